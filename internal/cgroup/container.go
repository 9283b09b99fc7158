package cgroup

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hawktrace/hawk/internal/foreign"
	"github.com/hawktrace/hawk/internal/order"
)

// A Container is a control group that a container runtime has made.
type Container struct {
	ID    string   // 64 hexadecimal digits, or the name where a runtime has no other
	Names []string // as the runtime writes them on disk, the shortest first
	Dir   string   // of the control group
}

// String is what the container is called in messages.
func (c Container) String() string {
	id := c.ID[:min(len(c.ID), 12)]
	if len(c.Names) > 0 && c.Names[0] != c.ID {
		return c.Names[0] + " (" + id + ")"
	}
	return id
}

// leastDigits is how much of an ID has to be given.
const leastDigits = 6

// FindContainer finds the one container that is running and has a name, or an ID that begins like
// this. The error names those that there are if it is none or several.
func FindContainer(name string) (Container, error) {
	mounts, err := Mounts()
	if err != nil {
		return Container{}, err
	}
	i := slices.IndexFunc(mounts, func(m Mount) bool { return m.Name == Unified })
	if i < 0 {
		return Container{}, errors.New("control groups of version 2 are not mounted")
	}
	return find(containers("/", mounts[i].Root), name)
}

// find finds the container that a name or the beginning of an ID means, one alone.
func find(all []Container, name string) (Container, error) {
	// A short word of hexadecimal letters is rather a name: "cafe" is one.
	isID := len(name) >= leastDigits && strings.Trim(name, "0123456789abcdef") == ""
	var found []Container
	for _, c := range all {
		if c.ID == name || slices.Contains(c.Names, name) || isID && strings.HasPrefix(c.ID, name) {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Container{}, fmt.Errorf("several containers are called %s: %s", name, list(found))
	case len(all) == 0:
		return Container{}, fmt.Errorf("no container is called %s: none is running", name)
	}
	return Container{}, fmt.Errorf("no container is called %s; there are: %s", name, list(all))
}

// list names containers, so many that a line holds them.
func list(all []Container) string {
	const most = 10
	var names []string
	for _, c := range all[:min(len(all), most)] {
		names = append(names, c.String())
	}
	if len(all) > most {
		names = append(names, fmt.Sprintf("and %d more", len(all)-most))
	}
	return strings.Join(names, ", ")
}

// dirForms are the names of directories of containers: docker-ID.scope and the like, ID
// alone, and those that go by name.
var dirForms = sync.OnceValues(func() (byID, byName *regexp.Regexp) {
	return regexp.MustCompile(`^(?:[a-z-]+-)?([0-9a-f]{64})(?:\.scope)?$`),
		regexp.MustCompile(`^(?:lxc\.payload\.(.+)|systemd-nspawn@(.+)\.service|machine-(.+)\.scope)$`)
})

// mostDirs bounds how many directories of the hierarchy are looked at.
const mostDirs = 1 << 17

// containers finds those below a directory of the hierarchy; their names are in files below root.
func containers(root, hierarchy string) []Container {
	found := map[string]*Container{}
	byID, byName := dirForms()
	seen := 0
	filepath.WalkDir(hierarchy, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has gone
		}
		if seen++; seen > mostDirs {
			return filepath.SkipAll
		}
		if !entry.IsDir() {
			return nil
		}
		// The first directory counts: groups inside of a container can be named after it again.
		if m := byID.FindStringSubmatch(entry.Name()); m != nil && found[m[1]] == nil {
			found[m[1]] = &Container{ID: m[1], Dir: dir}
		}
		if m := byName.FindStringSubmatch(entry.Name()); m != nil {
			name := unescapeUnit(m[1] + m[2] + m[3])
			found[name] = &Container{ID: name, Dir: dir}
		}
		return nil
	})
	addNames(root, found)
	var out []Container
	for _, id := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[id])
	}
	return out
}

// unescapeUnit undoes what systemd makes of a dash in the name of a unit.
func unescapeUnit(name string) string { return strings.ReplaceAll(name, `\x2d`, "-") }

// Where runtimes write what their containers are called.
const (
	docker     = "var/lib/docker/containers/*/config.v2.json"
	podman     = "var/lib/containers/storage/*-containers/containers.json" // and CRI-O
	rootless   = "home/*/.local/share/containers/storage/*-containers/containers.json"
	containerd = "run/containerd/io.containerd.runtime.v2.task/*/*/config.json"
)

// addNames gives the containers, which are by their IDs, what they are called.
func addNames(root string, found map[string]*Container) {
	add := func(id string, names ...string) {
		for _, name := range names {
			name = strings.TrimPrefix(name, "/")
			if c := found[id]; c != nil && name != "" && !slices.Contains(c.Names, name) {
				c.Names = append(c.Names, name)
				order.By(c.Names, func(a, b string) int {
					return cmp.Or(len(a)-len(b), strings.Compare(a, b))
				})
			}
		}
	}
	type labels struct {
		Labels map[string]string
	}
	type dockers struct {
		ID, Name string
		Config   labels
	}
	for _, c := range readAll[dockers](root, docker) {
		// Docker writes the name with a slash in front.
		add(c.ID, c.Name, c.Config.Labels[kubernetesName])
	}
	type stored []struct {
		ID    string
		Names []string
	}
	for _, list := range readAll[stored](root, podman) {
		for _, c := range list {
			add(c.ID, c.Names...)
		}
	}
	for _, list := range readAll[stored](root, rootless) {
		for _, c := range list {
			// A user names containers of users only.
			if of := found[c.ID]; of != nil && strings.Contains(of.Dir, "/user.slice/") {
				add(c.ID, c.Names...)
			}
		}
	}
	type bundle struct{ Annotations map[string]string }
	for file, b := range readAll[bundle](root, containerd) {
		a := b.Annotations
		add(path.Base(path.Dir(file)), a["io.kubernetes.cri.container-name"], a[kubernetesName], a["nerdctl/name"])
	}
}

// kubernetesName is the label with the name of a container in its pod.
const kubernetesName = "io.kubernetes.container.name"

// readAll reads the files of a pattern as JSON, those that can be read.
func readAll[T any](root, pattern string) map[string]T {
	const most = 16 << 20 // bytes of a file
	files, _ := filepath.Glob(filepath.Join(root, pattern))
	all := map[string]T{}
	for _, file := range files {
		var one T
		if text, err := foreign.Read(file, most); err == nil && json.Unmarshal(text, &one) == nil {
			all[file] = one
		}
	}
	return all
}

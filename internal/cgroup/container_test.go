package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindContainer finds containers of each runtime in a tree like that of a machine.
func TestFindContainer(t *testing.T) {
	root := t.TempDir()
	id := func(c string) string { return strings.Repeat(c, 64) }
	write := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	groups := map[string]string{
		id("a"): "cg/system.slice/docker-" + id("a") + ".scope", id("b"): "cg/docker/" + id("b"),
		id("c"): "cg/machine.slice/libpod-" + id("c") + ".scope",
		id("d"): "cg/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id("d") + ".scope",
		id("e"): "cg/kubepods.slice/kubepods-pod2.slice/crio-" + id("e") + ".scope",
		"web-1": "cg/lxc.payload.web-1", "my-box": `cg/machine.slice/systemd-nspawn@my\x2dbox.service`,
		id("1") + "x": "cg/user.slice/not-" + id("1") + "x",
	}
	for _, dir := range groups {
		write(dir+"/init/cgroup.procs", "1\n")
	}
	write("var/lib/docker/containers/"+id("a")+"/config.v2.json", `{"ID":"`+id("a")+`","Name":"/web"}`)
	write("var/lib/docker/containers/"+id("b")+"/config.v2.json", `{"ID":"`+id("b")+`","Name":"/db"}`)
	write("var/lib/docker/containers/"+id("f")+"/config.v2.json", `{"ID":"`+id("f")+`","Name":"/stopped"}`)
	write("var/lib/docker/containers/broken/config.v2.json", `{"ID":`)
	write("var/lib/docker/containers/odd/config.v2.json/dir", "x")
	write("var/lib/containers/storage/overlay-containers/containers.json",
		`[{"id":"`+id("c")+`","names":["db","pod"]},{"id":"`+id("e")+`","names":["k8s_cache_default_0"]}]`)
	write("run/containerd/io.containerd.runtime.v2.task/k8s.io/"+id("d")+"/config.json",
		`{"annotations":{"io.kubernetes.cri.container-name":"api"}}`)

	all := containers(root, filepath.Join(root, "cg"))
	for _, test := range []struct{ name, want, err string }{
		{name: "web", want: id("a")}, {name: "pod", want: id("c")}, {name: "api", want: id("d")},
		{name: "k8s_cache_default_0", want: id("e")}, {name: "web-1", want: "web-1"}, {name: "my-box", want: "my-box"},
		{name: "aaaaaa", want: id("a")}, {name: id("b"), want: id("b")},
		{name: "aaaaa", err: "no container is called aaaaa; there are: "},
		{name: "db", err: "several containers are called db: db (bbbbbbbbbbbb), db (cccccccccccc)"},
		{name: "stopped", err: "no container is called stopped; there are: web (aaaaaaaaaaaa), db (bbbbbbbbbbbb), "},
	} {
		got, err := find(all, test.name)
		switch {
		case test.err != "":
			if err == nil || !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("%s: %v, want %s", test.name, err, test.err)
			}
		case err != nil || got.ID != test.want || got.Dir != filepath.Join(root, groups[test.want]):
			t.Errorf("%s: %v at %s, %v, want %s", test.name, got, got.Dir, err, test.want)
		}
	}
	if len(all) != len(groups)-1 {
		t.Errorf("%d containers, want %d: %v", len(all), len(groups)-1, all)
	}
	if _, err := find(nil, "web"); err == nil || err.Error() != "no container is called web: none is running" {
		t.Error(err)
	}
}

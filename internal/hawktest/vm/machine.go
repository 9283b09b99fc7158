package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hawktrace/hawk/internal/hawktest/deb"
	"github.com/hawktrace/hawk/internal/hawktest/vm/wire"
)

// TimeScale is how much longer than on the host a time limit has to be inside a machine.
const TimeScale = 3

// hardware is what QEMU emulates for an architecture.
var hardware = map[string]struct {
	qemu, pkg    string // the program, and Debian's package that has it
	machine, cpu string
	console      string // the kernel's name of the serial port
}{
	"amd64": {"qemu-system-x86_64", "qemu-system-x86", "q35", "max,la57=off,cx16=off", "ttyS0"},
	"arm64": {"qemu-system-aarch64", "qemu-system-arm", "virt", "max,pauth-impdef=on", "ttyAMA0"},
}

// bootLimit bounds the time from QEMU's start to the agent's first word. It is seconds on an idle host.
const bootLimit = 3 * time.Minute

// A Config says what machine to start.
type Config struct {
	Kernel  Kernel
	Payload string // directory whose files are laid over the machine's root
	Console bool   // connect the machine's console to this process's terminal
	CPUs    int    // for how many processors to make room, in place of what the kernel's entry says; 0: as that says
}

// A Machine is a running VM.
type Machine struct {
	Release string // of the kernel, as uname says it

	dir     string // temporary files; removed by Close
	qemu    *exec.Cmd
	running bool       // QEMU was started
	exit    chan error // QEMU's end
	host    net.Conn   // the agent's port
}

// Start boots a machine and waits until it takes commands. It fetches the kernel if the cache does
// not have it. The caller closes the machine.
func Start(ctx context.Context, c Config) (*Machine, error) {
	cache, err := deb.CacheDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	kernel, err := c.Kernel.fetch()
	if err != nil {
		return nil, err
	}
	base, err := baseImage(cache, c.Kernel.Arch)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hawkvm") // short: the name of a socket in it is bounded
	if err != nil {
		return nil, err
	}
	m := &Machine{dir: dir, exit: make(chan error, 1)}
	if err := m.boot(ctx, c, kernel, base); err != nil {
		err = fmt.Errorf("starting a VM with kernel %s: %w\n%s", c.Kernel.Name, err, m.log())
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// boot prepares the machine's disks and starts it. The files of the kernel's packages are in
// kernel, the image of the host's programs is base.
func (m *Machine) boot(ctx context.Context, c Config, kernel, base string) error {
	vmlinuz, err := image(kernel)
	if err != nil {
		return err
	}
	mods, err := modules(kernel, bootModules)
	if err != nil {
		return err
	}
	spare, err := modules(kernel, spareModules)
	if err != nil {
		return err
	}
	agent, err := buildAgent(ctx, m.dir, c.Kernel.Arch)
	if err != nil {
		return err
	}
	if err := os.WriteFile(m.file("initramfs"), initramfs(agent, mods, spare), 0o644); err != nil {
		return err
	}
	if err := makeImage(c.Payload, m.file("payload")); err != nil {
		return err
	}
	if err := os.WriteFile(m.file("scratch"), nil, 0o644); err != nil {
		return err
	}
	if err := os.Truncate(m.file("scratch"), 64<<20); err != nil {
		return err
	}

	disk := func(path, readonly string) string {
		return "file=" + path + ",format=raw,if=virtio,readonly=" + readonly
	}
	hw := hardware[c.Kernel.Arch]
	args := []string{
		// One thread runs all processors in turn. With a thread each, a processor can execute
		// kernel text that another is patching, as attaching does all the time: an invalid
		// instruction now and then, or a machine that stands still.
		"-accel", "tcg,thread=single,tb-size=1024", "-cpu", hw.cpu,
		"-machine", hw.machine, "-m", "2048", "-smp", fmt.Sprintf("2,maxcpus=%d", cmp.Or(c.CPUs, c.Kernel.cpus)),
		"-nodefaults", "-display", "none", "-no-reboot",
		"-kernel", vmlinuz, "-initrd", m.file("initramfs"),
		"-append", "console=" + hw.console + " quiet loglevel=3 panic=-1 mitigations=off nowatchdog " +
			"random.trust_cpu=on no_timer_check rcupdate.rcu_cpu_stall_timeout=300",
		"-serial", "file:" + m.file("console"),
		"-drive", disk(base, "on"), "-drive", disk(m.file("payload"), "on"), "-drive", disk(m.file("scratch"), "off"),
		"-device", "virtio-serial-pci",
		"-chardev", "socket,id=agent,server=on,wait=off,path=" + m.file("agent"),
		"-device", "virtserialport,chardev=agent,name=" + wire.Port,
	}
	m.qemu = exec.Command(hw.qemu)
	if c.Console {
		args = append(args, "-chardev", "stdio,id=console,signal=off", "-device", "virtconsole,chardev=console")
		m.qemu.Stdin, m.qemu.Stdout = os.Stdin, os.Stdout
	}
	m.qemu.Args = append(m.qemu.Args, args...)
	messages, err := os.Create(m.file("qemu"))
	if err != nil {
		return err
	}
	defer messages.Close()
	m.qemu.Stderr = messages
	if err := m.qemu.Start(); err != nil {
		return fmt.Errorf("starting QEMU (package %s): %w", hw.pkg, err)
	}
	m.running = true
	go func() { m.exit <- m.qemu.Wait() }()

	limit, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	return m.connect(limit)
}

// connect opens the agent's port and waits for its greeting.
func (m *Machine) connect(ctx context.Context) error {
	for {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", m.file("agent"))
		if err == nil {
			m.host = conn
			break
		}
		select {
		case err := <-m.exit:
			m.exit <- err
			return fmt.Errorf("QEMU ended: %v", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	defer context.AfterFunc(ctx, func() { m.host.SetDeadline(time.Unix(1, 0)) })()
	kind, payload, err := wire.Read(m.host)
	if err != nil {
		return fmt.Errorf("waiting for the agent: %w", err)
	}
	if kind != wire.Ready {
		return fmt.Errorf("the agent greets with frame %c", kind)
	}
	m.Release = string(payload)
	return nil
}

// Run runs a command to its end, copying its output as it comes, and returns its exit status. When
// ctx ends first the machine is of no more use.
func (m *Machine) Run(ctx context.Context, c wire.Command, stdout, stderr io.Writer) (status int, err error) {
	defer context.AfterFunc(ctx, func() { m.host.SetDeadline(time.Unix(1, 0)) })()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			err = fmt.Errorf("in the VM: %w\n%s", err, m.log())
		}
	}()
	if err := wire.WriteCommand(m.host, c); err != nil {
		return 0, err
	}
	for {
		kind, payload, err := wire.Read(m.host)
		if err != nil {
			return 0, err
		}
		switch kind {
		case wire.Stdout:
			_, err = stdout.Write(payload)
		case wire.Stderr:
			_, err = stderr.Write(payload)
		case wire.Exit:
			return strconv.Atoi(string(payload))
		case wire.Failed:
			return 0, errors.New(string(payload))
		default:
			return 0, fmt.Errorf("unexpected frame %c", kind)
		}
		if err != nil {
			return 0, err
		}
	}
}

// Close ends the machine and removes what it left.
func (m *Machine) Close() error {
	if m.host != nil {
		m.host.Close()
	}
	if m.running {
		m.qemu.Process.Kill()
		<-m.exit
	}
	return os.RemoveAll(m.dir)
}

// Busy is how long the machine, which has been closed, kept a processor busy.
func (m *Machine) Busy() time.Duration {
	if m.qemu == nil || m.qemu.ProcessState == nil {
		return 0
	}
	return m.qemu.ProcessState.UserTime() + m.qemu.ProcessState.SystemTime()
}

func (m *Machine) file(name string) string { return filepath.Join(m.dir, name) }

// log returns what QEMU said and the end of what the kernel said on the serial console.
func (m *Machine) log() string {
	qemu, _ := os.ReadFile(m.file("qemu"))
	console, _ := os.ReadFile(m.file("console"))
	const most = 4096
	return string(qemu) + string(console[max(0, len(console)-most):])
}

// buildAgent compiles the machine's first process.
func buildAgent(ctx context.Context, dir, arch string) ([]byte, error) {
	out := filepath.Join(dir, "init")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out,
		"github.com/hawktrace/hawk/internal/hawktest/vm/agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the VM's agent: %w\n%s", err, msg)
	}
	return os.ReadFile(out)
}

package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/effects/fsfake"
	"github.com/permd/permd/decisions/effects/paths"
	"github.com/permd/permd/internal/eventually"
	"github.com/permd/permd/internal/lexpath"
)

// dead is a file system of which what lies below one folder does not answer until it is
// told to.
type dead struct {
	*fsfake.FS
	below  string
	answer chan struct{}

	mu      sync.Mutex
	waiting int
	most    int
}

func newDead(files *fsfake.FS, below string) *dead {
	return &dead{FS: files, below: below, answer: make(chan struct{})}
}

// wait waits as the kernel does. A path leads below by its own name only: a test fails
// if it is looked at through a link.
func (d *dead) wait(p string) {
	if !lexpath.In(d.below, p) {
		return
	}
	d.mu.Lock()
	d.waiting++
	d.most = max(d.most, d.waiting)
	d.mu.Unlock()
	<-d.answer
	d.mu.Lock()
	d.waiting--
	d.mu.Unlock()
}

func (d *dead) mostAtOnce() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.most
}

func (d *dead) Lstat(p string) (fs.FileMode, error) { d.wait(p); return d.FS.Lstat(p) }
func (d *dead) Readlink(p string) (string, error)   { d.wait(p); return d.FS.Readlink(p) }
func (d *dead) Owner(p string) (uint32, error)      { d.wait(p); return d.FS.Owner(p) }
func (d *dead) ReadFile(p string, limit int64) ([]byte, error) {
	d.wait(p)
	return d.FS.ReadFile(p, limit)
}

func (d *dead) Names(p string, limit int) ([]fs.DirEntry, error) {
	d.wait(p)
	return d.FS.Names(p, limit)
}

func (d *dead) Stamp(p string) (paths.Stamp, error) {
	d.wait(p)
	_, err := d.FS.Lstat(p)
	return paths.Stamp{Device: 1, File: uint64(len(p))}, err
}

func (d *dead) Identity(p string) (paths.Identity, error) {
	s, err := d.Stamp(p)
	return paths.Identity{Device: s.Device, File: s.File}, err
}

// looks are all ways to look at a path.
func looks(f *FS) map[string]func(p string) error {
	return map[string]func(p string) error{
		"Lstat":    func(p string) error { _, err := f.Lstat(p); return err },
		"Readlink": func(p string) error { _, err := f.Readlink(p); return err },
		"ReadFile": func(p string) error { _, err := f.ReadFile(p, 10); return err },
		"Names":    func(p string) error { _, err := f.Names(p, 10); return err },
		"Owner":    func(p string) error { _, err := f.Owner(p); return err },
		"Stamp":    func(p string) error { _, err := f.Stamp(p); return err },
		"Identity": func(p string) error { _, err := f.Identity(p); return err },
		"Look": func(p string) error {
			_, err := Look(f, p, func(p string) (int, error) { _, err := f.files.Lstat(p); return 0, err })
			return err
		},
	}
}

func TestNoAnswer(t *testing.T) {
	for name := range looks(nil) {
		for _, p := range []string{"/mnt/x", "/mnt/x/a/b", "/home/link/a", "/home/up/x/a"} {
			t.Run(name+" "+p, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := newDead(fsfake.New("/mnt/x/a/b").Link("/home/link", "/mnt/x").Link("/home/up", "../mnt"), "/mnt/x")
					f := Of(d, "/mnt/x")
					began := time.Now()
					err := looks(f)[name](p)
					var silent *effects.NoAnswerError
					if !errors.As(err, &silent) || silent.Mount != "/mnt/x" || errors.Is(err, fs.ErrNotExist) {
						t.Errorf("error %v", err)
					}
					if took := time.Since(began); took > patience {
						t.Errorf("it took %v", took)
					}
					close(d.answer)
				})
			})
		}
	}
}

// TestManyLooks has many callers look at once: two threads wait, the others have their
// answer at once or with them, and what lies elsewhere is looked at as ever.
func TestManyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDead(fsfake.New("/mnt/x/a", "/mnt/y/a", "/home/a"), "/mnt/x")
		f := Of(d, "/mnt/x", "/mnt/y")
		began := time.Now()
		var all sync.WaitGroup
		for range 80 {
			all.Go(func() {
				if _, err := f.Lstat("/mnt/x/a"); err == nil {
					t.Error("an answer")
				}
				for _, p := range []string{"/home/a", "/mnt/y/a"} {
					if _, err := f.Lstat(p); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != patience {
			t.Errorf("all took %v", took)
		}
		if _, err := f.Lstat("/mnt/x/b"); err == nil || time.Since(began) != patience {
			t.Errorf("later: %v after %v", err, time.Since(began))
		}
		if most := d.mostAtOnce(); most != maxUnderWay {
			t.Errorf("%d looks at the same time", most)
		}
		stuck := f.Stuck()
		if len(stuck) != 1 || stuck[0].Mount != "/mnt/x" || stuck[0].Looks != maxUnderWay || !stuck[0].Since.Equal(began) {
			t.Errorf("stuck: %+v", stuck)
		}
		close(d.answer)
		synctest.Wait()
		if stuck := f.Stuck(); stuck != nil {
			t.Errorf("stuck after the answer: %+v", stuck)
		}
		if _, err := f.Lstat("/mnt/x/a"); err != nil {
			t.Errorf("after the answer: %v", err)
		}
	})
}

// TestSlowButAnswering has more callers than may look at once, at a file system that
// takes some time for each answer. All of them get it.
func TestSlowButAnswering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDead(fsfake.New("/mnt/x/a"), "/mnt/x")
		go func() {
			for range 16 {
				time.Sleep(5 * time.Millisecond)
				d.answer <- struct{}{}
			}
		}()
		f := Of(d, "/mnt/x")
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if _, err := f.Lstat("/mnt/x/a"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

func TestMaxStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDead(fsfake.New(), "/mnt")
		var points []string
		for i := range maxStuck {
			points = append(points, fmt.Sprintf("/mnt/%d", i))
		}
		f := Of(d, points...)
		for _, p := range points {
			for range 3 {
				if _, err := f.Lstat(p); err == nil {
					t.Fatal("an answer")
				}
			}
		}
		if most := d.mostAtOnce(); most != maxStuck {
			t.Errorf("%d looks hang", most)
		}
		close(d.answer)
	})
}

func TestPoolsAreBounded(t *testing.T) {
	f := Of(newDead(fsfake.New("/mnt/a"), "/nowhere"))
	for i := range 4 * maxPools {
		if _, err := await(f, mount{key: fmt.Sprint(i), point: "/mnt"}, patience, "/mnt/a", f.files.Lstat); err != nil {
			t.Fatal(err)
		}
		// It is given back a moment after the answer.
		eventually.Holds(t, "no look under way", func() bool { return len(f.pools[fmt.Sprint(i)].free) == maxUnderWay })
	}
	if len(f.pools) > maxPools {
		t.Errorf("%d pools", len(f.pools))
	}
}

// TestSame compares what is seen with what the file system itself says.
func TestSame(t *testing.T) {
	files := fsfake.New("/mnt/x/a", "/home/u/f").Link("/home/in", "u").Link("/home/l", "in/f").Link("/home/out", "../mnt/x").
		Link("/home/loop", "loop").Link("/home/far", "/home/out/../x")
	d := newDead(files, "/nowhere")
	remote, local := Of(d, "/mnt/x"), Of(d)
	for name, look := range looks(remote) {
		for _, p := range []string{
			"/", "/home", "/home/u/f", "/home/u/f/g", "/home/in", "/home/in/f", "/home/l", "/home/in/none", "/none/a", "/mnt/x/a", "/mnt/x/b",
			"/home/out/a", "/home/far/a", "/home/loop/a", "/mnt",
		} {
			got, want := look(p), looks(local)[name](p)
			if (got == nil) != (want == nil) || errors.Is(got, fs.ErrNotExist) != errors.Is(want, fs.ErrNotExist) {
				t.Errorf("%s %s: %v, want %v", name, p, got, want)
			}
		}
	}
}

// TestMagic refuses links of /proc, which lead elsewhere than their text says.
func TestMagic(t *testing.T) {
	f := Of(newDead(fsfake.New("/home/a").Link("/proc/1/cwd", "/home"), "/nowhere"), "/mnt/x")
	if _, err := f.Lstat("/proc/1/cwd/a"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestParse(t *testing.T) {
	const text = `22 27 0:21 / /proc rw,relatime shared:12 - proc proc rw
27 1 254:1 / / rw,noatime shared:1 - nfs4 host:/root rw
30 27 0:26 / /dev/shm rw - tmpfs tmpfs rw
40 27 0:50 / /mnt/x rw,relatime shared:3 master:1 - nfs4 host:/x rw,hard
41 27 0:51 /sub /mnt/a\040b\134c rw - fuse.sshfs user@host:/ rw
42 40 0:52 / /mnt/x/inner rw - cifs //host/y rw
43 27 8:1 / /data rw - ext4 /dev/sda1 rw
44 27 0:60 / /auto rw - autofs systemd-1 rw
45 27 0:61 / /new rw - somethingfs none rw
46 27 0:62 / /srv/proc rw - proc proc rw
47 27 0:63 / /over rw - overlay overlay rw,lowerdir=/usr:/mnt/x/lower,upperdir=/data/u,workdir=/data/w
48 27 0:64 / /box rw - overlay overlay rw,lowerdir=/usr,upperdir=/data/u,workdir=/data/w
49 27 0:65 / /second rw - overlay overlay rw,lowerdir=/over/sub,upperdir=/data/u2,workdir=/data/w2
50 27 0:66 / /third rw - overlay overlay rw,lowerdir=/usr:/second,upperdir=/data/u3,workdir=/data/w3
51 27 0:67 / /boxed rw - overlay overlay rw,lowerdir=/box,upperdir=/data/u4,workdir=/data/w4
`
	table := parse(text)
	for p, want := range map[string]string{
		"/home/u": "", "/mnt": "", "/mnt/xy": "", "/data/a": "", "/dev/shm/a": "", "/proc/1": "",
		"/mnt/x": "/mnt/x", "/mnt/x/a": "/mnt/x", "/mnt/x/inner/a": "/mnt/x/inner", `/mnt/a b\c/d`: `/mnt/a b\c`, "/auto/x": "/auto", "/over/a": "/over", "/second/a": "/second", "/third/a": "/third", "/boxed/a": "", "/box/a": "", "/new": "/new",
	} {
		got := ""
		if m := table.of(p); m != nil {
			got = m.point
		}
		if got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
	if !table.magic("/srv/proc/1/cwd") || table.magic("/srv/a") {
		t.Error("the second /proc")
	}
	if !table.holdsMount("/mnt") || !table.holdsMount("/") || table.holdsMount("/mnt/x") || table.holdsMount("/home") {
		t.Error("folders with mount points")
	}
	for name, text := range map[string]string{
		"empty": "", "no dash": "40 27 0:50 / /mnt/x rw nfs4 host:/x rw\n", "short": "40 27 - nfs4 x y\n", "no type": "40 27 0:50 / /mnt/x rw - \n",
		"too many": strings.Repeat("40 27 0:50 / /mnt/x rw - nfs4 host:/x rw\n", maxRemote+1),
	} {
		if parse(text).of("/any") == nil {
			t.Errorf("%s: taken for local", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("40 27 0:50 / /mnt/x rw,relatime shared:3 master:1 - nfs4 host:/x rw,hard\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parse(text).remote {
			if !strings.HasPrefix(m.point, "/") {
				t.Errorf("mount point %q", m.point)
			}
		}
	})
}

// TestKeepsStamps: of a file system of another machine, or one of the kernel's own, nobody
// knows whether a stamp changes with each name.
func TestKeepsStamps(t *testing.T) {
	f := Of(paths.OSFS{}, "/net/a")
	for p, want := range map[string]bool{"/": true, "/net": true, "/net/a": false, "/net/a/b": false, "/net/ab": true} {
		if got := f.KeepsStamps(p); got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
	const local = "1 0 0:1 / / rw - ext4 /dev/a rw\n2 1 0:2 / /proc rw - proc proc rw\n3 1 0:3 / /tmp rw - tmpfs tmpfs rw\n4 1 0:4 / /boot rw - vfat /dev/b rw\n"
	f.table.Store(parse(local))
	for p, want := range map[string]bool{"/": true, "/home": true, "/proc": false, "/proc/1": false, "/tmp/a": true, "/boot/a": false, "/boots": true} {
		if got := f.KeepsStamps(p); got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
	if f.table.Store(parse(strings.ReplaceAll(local, "ext4", "somethingfs"))); f.KeepsStamps("/tmp/a") {
		t.Error("below a root of which nothing is known")
	}
}

package paths

import "sync"

// Child is Joined for a name that a program looks for in each folder, such as .git. It
// keeps the paths of the folders that are asked for most, as calls ask for the same ones
// again and again.
func Child(dir, name string) string { return children.path(dir, name) }

// Bounds of the paths that are kept.
const (
	maxChildFolders = 256
	maxChildNames   = 32  // of a folder
	maxChildPath    = 512 // bytes
)

// children is shared by all calls.
var children = childPaths{byFolder: map[string][]string{}}

// childPaths has paths by their folder.
type childPaths struct {
	mu       sync.RWMutex
	byFolder map[string][]string
}

func (c *childPaths) path(dir, name string) string {
	if len(dir) <= 1 {
		return Joined(dir, name)
	}
	c.mu.RLock()
	known := c.byFolder[dir]
	c.mu.RUnlock()
	for _, p := range known {
		if len(p) == len(dir)+1+len(name) && p[len(dir)+1:] == name {
			return p
		}
	}
	p := Joined(dir, name)
	if len(p) > maxChildPath || len(p) != len(dir)+1+len(name) || len(known) >= maxChildNames {
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byFolder) >= maxChildFolders {
		clear(c.byFolder)
	}
	// Others may read the list that is there. The folder's own text may be a part of a
	// message, so it is not kept.
	known = c.byFolder[dir]
	c.byFolder[p[:len(dir)]] = append(known[:len(known):len(known)], p)
	return p
}

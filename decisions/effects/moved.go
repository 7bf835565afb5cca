package effects

// Moved says what is moved away.
type Moved string

// What is moved away.
const (
	MovedFile   Moved = "file"   // anything but a folder
	MovedFolder Moved = "folder" // with all that is in it
	MovedPath   Moved = "path"   // one of these
)

// Package bundles reads, makes and keeps bundles of OPA that hold the rules of a layer: a
// gzipped tar archive with what a folder of rules has, a manifest, and a signature of
// every file. OPA's own reader verifies the signature; what it leaves open is decided
// here: how large an archive may be, which names and entries it may have, that each file
// that is read is signed, and that no revision follows a higher one.
//
// Nothing is ever unpacked to the disk. What is kept is the archive as it came, so that
// it is verified again whenever it is read.
package bundles

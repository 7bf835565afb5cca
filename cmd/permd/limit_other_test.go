//go:build !linux

package main

import "testing"

func limitFiles(t *testing.T, _ int, _ uint64) func() {
	t.Skip("the limits of another process can be changed only on Linux")
	return nil
}

func limitDescriptors(t *testing.T, _ int) func() {
	t.Skip("the limits of another process can be changed only on Linux")
	return nil
}

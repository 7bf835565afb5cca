package git

import "testing"

// FuzzObjects: no index, pack or list of commits, however damaged, ends the process.
func FuzzObjects(f *testing.F) {
	index := make([]byte, 8+4*256+28)
	copy(index, "\xfftOc\x00\x00\x00\x02")
	index[8+4*256-1] = 1
	graph := make([]byte, 64)
	copy(graph, "CGPH\x01\x01\x01\x00OIDL")
	graph[19], graph[31] = 32, 52
	f.Add(index, 0)
	f.Add(graph, 12)
	f.Add([]byte("PACK........\x90\x80\x80\x80\x80\x80"), 12)
	f.Add([]byte("PACK........\xe0\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"), 12)
	f.Add([]byte("PACK........\x70xxxxxxxxxxxxxxxxxxxx"), 12)
	f.Fuzz(func(_ *testing.T, data []byte, at int) {
		graphHas(data, "0000")
		offsetIn(data, "0000")
		packed(data, data, at)
	})
}

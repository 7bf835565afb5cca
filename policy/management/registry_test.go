package management

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// registry is as much of a registry of OCI as a download needs.
type registry struct {
	mu    sync.Mutex
	blobs map[string][]byte // by digest, with their manifests
	kinds map[string]string
	tags  map[string]string // digests of the manifests that the tag latest of repositories names
	sent  int               // layers
}

const layerKind = "application/vnd.oci.image.layer.v1.tar+gzip"

func newRegistry() *registry {
	return &registry{blobs: map[string][]byte{}, kinds: map[string]string{}, tags: map[string]string{}}
}

// layers returns how many layers were sent.
func (r *registry) layers() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

func (r *registry) add(data []byte, kind string) (digest string) {
	sum := sha256.Sum256(data)
	digest = "sha256:" + hex.EncodeToString(sum[:])
	r.blobs[digest], r.kinds[digest] = data, kind
	return digest
}

// push makes a bundle what the tag latest of a repository names.
func (r *registry) push(repository string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	config := r.add([]byte("{}"), "application/vnd.oci.image.config.v1+json")
	layer := r.add(data, layerKind)
	r.tags[repository] = r.add(fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":%q,"size":2},`+
		`"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":%q,"size":%d}]}`, config, layer, len(data)), "application/vnd.oci.image.manifest.v1+json")
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	if repository, ok := strings.CutSuffix(strings.TrimPrefix(req.URL.Path, "/v2/"), "/manifests/latest"); ok {
		name = r.tags[repository]
	}
	data, ok := r.blobs[name]
	if !ok {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", r.kinds[name])
	w.Header().Set("Docker-Content-Digest", name)
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if req.Method != http.MethodHead {
		if r.kinds[name] == layerKind {
			r.sent++
		}
		_, _ = w.Write(data)
	}
}

// Image writes a container image of one layer, as an OCI archive for `ctr images
// import`, without a container engine:
//
//	image [-entrypoint WORD,...] OUT.tar REFERENCE NAME=FILE|NAME=DIR/|NAME->TARGET ...
//
// Each file is NAME in the image; a name with -> is a link.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	entrypoint := flag.String("entrypoint", "", "words of the entrypoint, separated by commas")
	user := flag.String("user", "65532:65532", "user and group")
	flag.Parse()
	if flag.NArg() < 3 {
		fmt.Fprintln(os.Stderr, "usage: image [-entrypoint WORD,...] OUT.tar REFERENCE NAME=FILE ...")
		os.Exit(2)
	}
	if err := write(flag.Arg(0), flag.Arg(1), *entrypoint, *user, flag.Args()[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func write(out, reference, entrypoint, user string, files []string) error {
	layer, err := layerOf(files)
	if err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	a := archive{tar: tar.NewWriter(f)}
	config := map[string]any{"User": user, "Env": []string{"PATH=/:/usr/bin:/bin:/usr/sbin:/sbin"}}
	if entrypoint != "" {
		config["Entrypoint"] = strings.Split(entrypoint, ",")
	}
	layerBlob := a.blob("application/vnd.oci.image.layer.v1.tar", layer)
	configBlob := a.json("application/vnd.oci.image.config.v1+json", map[string]any{
		"architecture": "amd64", "os": "linux", "config": config,
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{layerBlob.Digest}},
		"history": []any{map[string]any{"created_by": "image"}},
	})
	manifest := a.json("application/vnd.oci.image.manifest.v1+json", map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": configBlob, "layers": []descriptor{layerBlob},
	})
	manifest.Annotations = map[string]string{"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []descriptor{manifest}})
	a.fail(err)
	a.file("index.json", index)
	a.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	return errors.Join(a.err, a.tar.Close(), f.Close())
}

// layerOf packs the files with what every program expects to find.
func layerOf(files []string) ([]byte, error) {
	var layer bytes.Buffer
	a := archive{tar: tar.NewWriter(&layer)}
	a.header(&tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir})
	a.file("etc/passwd", []byte("root:x:0:0::/:/\npostgres:x:70:70::/:/\nnonroot:x:65532:65532::/:/\n"))
	for _, text := range files {
		if name, target, ok := strings.Cut(text, "->"); ok {
			a.header(&tar.Header{Name: strings.TrimPrefix(name, "/"), Linkname: target, Typeflag: tar.TypeSymlink, Mode: 0o777})
			continue
		}
		name, file, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("found %q, expected NAME=FILE", text)
		}
		a.fail(filepath.WalkDir(file, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(file, p)
			if err != nil {
				return err
			}
			a.file(strings.TrimPrefix(path.Join(name, relative), "/"), content)
			return nil
		}))
	}
	return layer.Bytes(), errors.Join(a.err, a.tar.Close())
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// archive is a tar file that keeps its first error.
type archive struct {
	tar *tar.Writer
	err error
}

func (a *archive) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *archive) header(h *tar.Header) {
	h.ModTime = time.Unix(0, 0) // the same files are the same image
	a.fail(a.tar.WriteHeader(h))
}

func (a *archive) file(name string, content []byte) {
	a.header(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg})
	_, err := a.tar.Write(content)
	a.fail(err)
}

func (a *archive) blob(mediaType string, content []byte) descriptor {
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	a.file("blobs/sha256/"+name, content)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + name, Size: len(content)}
}

func (a *archive) json(mediaType string, v any) descriptor {
	text, err := json.Marshal(v)
	a.fail(err)
	return a.blob(mediaType, text)
}

// Decodes manifests with Kubernetes' own types: an unknown or repeated member is an error.
package main

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	failed := false
	for _, file := range os.Args[1:] {
		content, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		for _, document := range strings.Split(string(content), "\n---\n") {
			_, kind, err := decoder.Decode([]byte(document), nil, nil)
			if err != nil {
				failed = true
				fmt.Println(file, err)
			} else {
				fmt.Println(file, kind.Kind)
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}

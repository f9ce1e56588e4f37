package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/trainweld/trainweld/conflict"
	"github.com/trainweld/trainweld/merge"
)

// main merges with the core what client-go's types describe.
func main() {
	fmt.Println(scheme.Scheme.IsVersionRegistered(appsv1.SchemeGroupVersion))
	patch := merge.Object{"spec": map[string]any{"replicas": int64(2)}}
	result, err := merge.Strategic(&appsv1.Deployment{},
		[]merge.Patch{{Manager: "a", Value: patch}})
	if err != nil || conflict.Find(result.History).Err() != nil || *result.Value.Spec.Replicas != 2 {
		panic(err)
	}
}

package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	fmt.Println(scheme.Scheme.IsVersionRegistered(appsv1.SchemeGroupVersion))
}

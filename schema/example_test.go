package schema_test

import (
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/trainweld/trainweld/fieldpath"
	"github.com/trainweld/trainweld/schema"
)

func Example() {
	deployment := schema.TypeOf(reflect.TypeFor[appsv1.Deployment]())
	containers, err := deployment.Resolve(
		fieldpath.Fields("spec", "template", "spec", "containers"))
	if err != nil {
		return
	}
	fmt.Println(deployment.Lookup(containers))

	_, err = deployment.Resolve(fieldpath.Fields("spec", "template", "spec", "containers", "imag"))
	fmt.Println(err)
	// Output:
	// list-map by name
	// .spec.template.spec.containers[*] has no field imag: use .spec.template.spec.containers[*].image
}

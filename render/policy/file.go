package policy

import (
	"encoding/json"
	"errors"
	"strings"
)

// latest is the version of the form that this program reads.
const latest = 1

// file is the form of a policy file. The tags doc are the descriptions of the JSON Schema.
type file struct {
	Version        *int             `json:"version,omitempty" doc:"The version of this form. A program that does not know the version says so, and reads nothing of the file."`
	TrainerVersion version          `json:"trainerVersion,omitempty" doc:"The release of the Trainer, such as \"2.3\". A release that is named on the command line wins over it."`
	Kubernetes     version          `json:"kubernetesVersion,omitempty" doc:"The minor version of Kubernetes, such as \"1.36\". Without it, the one of the release. One that is named on the command line wins over it."`
	Stock          *bool            `json:"stock,omitempty" doc:"Accept the runtimes that the release ships for those that the inputs lack, without a note."`
	Managers       []managerEntry   `json:"managers,omitempty" doc:"The known managers, in the order of their patches. The patch of any other manager is a finding."`
	Patches        []patchEntry     `json:"patches,omitempty" doc:"Files of patches that TrainJobs get after their own patches, in this order."`
	Severities     map[string]level `json:"severities,omitempty" doc:"The severities of findings by their codes."`
	Cluster        *clusterEntry    `json:"cluster,omitempty" doc:"The objects that put the rules into force in a cluster. Flags of the command policy win."`
}

type clusterEntry struct {
	Name              string `json:"name,omitempty" doc:"The name of the objects. Without it, trainweld."`
	NamespaceSelector string `json:"namespaceSelector,omitempty" doc:"A label selector for namespaces. Without it, the rules are in force in all."`
	ObjectSelector    string `json:"objectSelector,omitempty" doc:"A label selector for TrainJobs. Without it, the rules are in force for all."`
}

type managerEntry struct {
	Name     string   `json:"name" doc:"The name of the manager, such as kueue.x-k8s.io/manager."`
	Required bool     `json:"required,omitempty" doc:"A TrainJob without a patch of the manager is a finding."`
	For      *forJobs `json:"for,omitempty" doc:"The TrainJobs that require the manager. Without it, all of them."`
	Paths    []string `json:"paths,omitempty" doc:"The fields of the JobSet that the manager may set, with all fields below them. [*] is any item. Without it, the manager may set all fields."`

	Users           []string `json:"users,omitempty" doc:"The users that may add, change or remove the patch in the cluster. Without users and serviceAccounts, all may."`
	ServiceAccounts []string `json:"serviceAccounts,omitempty" doc:"The service accounts that may, each as namespace/name."`
}

type patchEntry struct {
	File    string   `json:"file" doc:"The file of the patches, relative to this file."`
	Manager string   `json:"manager,omitempty" doc:"The manager of the patches that name none."`
	For     *forJobs `json:"for,omitempty" doc:"The TrainJobs that get the patches. Without it, all of them."`
}

// forJobs selects TrainJobs.
type forJobs struct {
	Namespaces []string `json:"namespaces,omitempty" doc:"Namespaces. * stands for any characters."`
	Labels     string   `json:"labels,omitempty" doc:"A label selector as of kubectl, such as app=x,tier!=test."`
	Names      []string `json:"names,omitempty" doc:"Names of TrainJobs. * stands for any characters."`
	Runtimes   []string `json:"runtimes,omitempty" doc:"Names of runtimes. * stands for any characters."`
}

// version is a release. A bare 2.3 is a number in YAML, and loses a zero at its end.
type version string

func (v *version) UnmarshalJSON(data []byte) error {
	var number json.Number
	if err := json.Unmarshal(data, (*string)(v)); err == nil {
		return nil
	}
	if err := json.Unmarshal(data, &number); err != nil {
		return err
	}
	*v = version(number)
	if !strings.Contains(string(number), ".") {
		*v += ".0"
	}
	return nil
}

// level is a severity, or off. A bare off is false in the YAML of Kubernetes.
type level string

const off level = "off"

func (l *level) UnmarshalJSON(data []byte) error {
	var is bool
	if err := json.Unmarshal(data, &is); err != nil {
		return json.Unmarshal(data, (*string)(l))
	}
	if is {
		return errors.New("true is not a severity")
	}
	*l = off
	return nil
}

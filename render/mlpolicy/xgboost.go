package mlpolicy

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// xgboost sets up the tracker, with one worker per GPU or else per node (Trainer v2.3.0
// pkg/runtime/framework/plugins/xgboost). The controller also runs its plain plugin, and the order
// of the two changes with every start of the controller. Here spec.trainer.env comes first.
func xgboost(j *Job) bool {
	set := j.trainerSet()
	j.setNumNodes(set)
	c, found := j.trainerNode()
	if !found {
		j.nothingInjected()
		return true
	}
	workers := set.Count * int32(max(1, j.gpus(j.Release.Claims.XGBoost)))
	by := policyWriter("xgboost")
	j.UpsertEnv(by, c,
		corev1.EnvVar{Name: "DMLC_TRACKER_URI", Value: j.master()},
		corev1.EnvVar{Name: "DMLC_TRACKER_PORT", Value: strconv.Itoa(port)},
		corev1.EnvVar{Name: "DMLC_TASK_ID", ValueFrom: indexEnv()},
	)
	j.UpsertEnv(by.counting(set), c,
		corev1.EnvVar{Name: "DMLC_NUM_WORKER", Value: strconv.Itoa(int(workers))})
	j.upsertPort(by, c, port)
	j.checkMaster(set)
	j.checkGPUs(c)
	return true
}

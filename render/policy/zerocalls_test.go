package policy_test

import (
	"testing"

	"github.com/trainweld/trainweld/internal/testenv"
	"github.com/trainweld/trainweld/render/policy"
)

func TestZeroCalls(t *testing.T) {
	testenv.ZeroCalls(t, nil,
		policy.Companions, policy.Computed, policy.Copied, policy.Enforce, policy.Env, policy.NewJob,
		policy.Schedule,
		new(policy.Job), new(policy.Place), new(policy.PodSet),
	)
}

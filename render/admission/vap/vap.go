// Package vap answers whether the expressions of a ValidatingAdmissionPolicy reject an object, without a cluster.
//
//	object, left := policy.AdmissionPolicy(p, "trainjobs")
//	expressions, err := vap.Compile(object)
//	if err != nil {
//		return err
//	}
//	verdict := expressions.Validate(ctx, trainJob, nil, "system:serviceaccount:team-a:ci")
package vap

import (
	"context"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/lazy"
	"k8s.io/apiserver/pkg/cel/library"
)

// Expressions are the compiled expressions of a ValidatingAdmissionPolicy. They judge a request as the API server of Kubernetes 1.36
// does, but know of the request only its user.
type Expressions struct {
	conditions, variables []named
	validations           []validation
}

type named struct {
	name    string
	program cel.Program
}

type validation struct {
	expression, text string
	holds, message   cel.Program
}

// Compile compiles the expressions of a ValidatingAdmissionPolicy, given as decoded JSON. The error names the first that does not
// compile.
func Compile(object map[string]any) (*Expressions, error) {
	var vap admissionregistration.ValidatingAdmissionPolicy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &vap); err != nil {
		return nil, err
	}
	options := []cel.EnvOption{}
	for _, name := range []string{"object", "oldObject", "request", "variables"} {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options})
	if err != nil {
		return nil, err
	}
	env, err := set.Env(environment.NewExpressions)
	if err != nil {
		return nil, err
	}
	program := func(expression string) cel.Program {
		if err != nil {
			return nil
		}
		ast, issues := env.Compile(expression)
		if err = issues.Err(); err != nil {
			err = fmt.Errorf("%s: %w", expression, err)
			return nil
		}
		var p cel.Program
		p, err = env.Program(ast, cel.CostLimit(celconfig.PerCallLimit), cel.CostTracking(&library.CostEstimator{}), cel.InterruptCheckFrequency(celconfig.CheckFrequency))
		return p
	}
	e := &Expressions{}
	for _, c := range vap.Spec.MatchConditions {
		e.conditions = append(e.conditions, named{c.Name, program(c.Expression)})
	}
	for _, v := range vap.Spec.Variables {
		e.variables = append(e.variables, named{v.Name, program(v.Expression)})
	}
	for _, v := range vap.Spec.Validations {
		one := validation{expression: v.Expression, text: v.Message, holds: program(v.Expression)}
		if v.MessageExpression != "" {
			one.message = program(v.MessageExpression)
		}
		e.validations = append(e.validations, one)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Verdict is the outcome of the expressions for a request.
type Verdict struct {
	// Skipped tells that the policy's conditions leave the request out.
	Skipped  bool
	Rejected []Rejection
	Cost     Cost
}

// Cost is the cost of the expressions in the units of the API server. Call is the cost of the dearest expression, which it limits
// to 1,000,000. Request is the cost of all expressions, which it limits to 10,000,000.
type Cost struct{ Call, Request uint64 }

// Rejection is the expression that rejects an object, or the name of the condition, and its message.
type Rejection struct{ Expression, Message string }

// Validate validates a request. before is the object that an update replaces, or nil. An expression that cannot be evaluated rejects the
// object. A nil e rejects nothing.
func (e *Expressions) Validate(ctx context.Context, object, before map[string]any, user string) (v Verdict) {
	if e == nil {
		return v
	}
	variables := lazy.NewMapValue(types.NewMapType(types.StringType, types.DynType))
	input := map[string]any{"object": object, "oldObject": nil, "request": map[string]any{"userInfo": map[string]any{"username": user}}, "variables": variables}
	if before != nil {
		input["oldObject"] = before
	}
	run := func(p cel.Program) ref.Val {
		value, details, err := p.ContextEval(ctx, input)
		if details != nil && details.ActualCost() != nil {
			v.Cost.Call, v.Cost.Request = max(v.Cost.Call, *details.ActualCost()), v.Cost.Request+*details.ActualCost()
		}
		if err != nil {
			return types.WrapErr(err)
		}
		return value
	}
	for _, c := range e.conditions {
		switch matches := run(c.program); {
		case types.IsError(matches):
			v.Rejected = append(v.Rejected, Rejection{c.name, fmt.Sprint(matches)})
			return v
		case matches != types.True:
			v.Skipped = true
			return v
		}
	}
	for _, each := range e.variables {
		variables.Append(each.name, func(*lazy.MapValue) ref.Val { return run(each.program) })
	}
	for _, each := range e.validations {
		holds := run(each.holds)
		if holds == types.True {
			continue
		}
		text := each.text
		if types.IsError(holds) {
			text = fmt.Sprint(holds)
		} else if each.message != nil {
			if messageText, ok := run(each.message).Value().(string); ok {
				text = messageText
			}
		}
		v.Rejected = append(v.Rejected, Rejection{each.expression, text})
	}
	return v
}

// Package vap answers whether the expressions of a ValidatingAdmissionPolicy reject an object,
// without a cluster.
//
//	generated := policy.AdmissionPolicies(p, "trainjobs")
//	expressions, err := vap.Compile(generated.Policies...)
//	if err != nil {
//		return err
//	}
//	verdict := expressions.Validate(ctx, trainJob, nil, "system:serviceaccount:team-a:ci")
package vap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	names "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/lazy"
	"k8s.io/apiserver/pkg/cel/library"
)

// Expressions are the compiled expressions of ValidatingAdmissionPolicies. They judge a request as
// the API server of Kubernetes 1.36 does, but know of the request only its user.
type Expressions struct{ policies []expressions }

// expressions are those of one policy.
type expressions struct {
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

// CompileError is an expression that the API server does not compile.
type CompileError struct {
	Name string // of the variable or condition, or the expression of a validation
	Err  error
}

func (e CompileError) Error() string { return fmt.Sprintf("%s: %v", e.Name, e.Err) }

func (e CompileError) Unwrap() error { return e.Err }

// mostBytes is what etcd stores of one object, less what the API server adds.
const mostBytes = 1_400_000

// Compile compiles the expressions of ValidatingAdmissionPolicies, given as decoded JSON. It
// returns a [CompileError] for the first expression that does not compile.
func Compile(objects ...map[string]any) (*Expressions, error) {
	e := &Expressions{}
	for _, object := range objects {
		one, err := compile(object)
		if err != nil {
			return nil, err
		}
		e.policies = append(e.policies, one)
	}
	return e, nil
}

func compile(object map[string]any) (e expressions, err error) {
	var vap admissionregistration.ValidatingAdmissionPolicy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &vap); err != nil {
		return e, err
	}
	if text, err := json.Marshal(object); err != nil || len(text) > mostBytes {
		largest := slices.MaxFunc(append(vap.Spec.Variables, admissionregistration.Variable{}),
			func(a, b admissionregistration.Variable) int {
				return cmp.Compare(len(a.Expression), len(b.Expression))
			})
		tooLarge := fmt.Errorf("an object of %d bytes: the API server stores at most %d", len(text),
			mostBytes)
		return e, cmp.Or(err, error(CompileError{largest.Name, tooLarge}))
	}
	if problems := names.IsDNS1123Subdomain(vap.Name); problems != nil {
		return e, fmt.Errorf("the name %q: %s", vap.Name, problems[0])
	}
	options := []cel.EnvOption{}
	for _, name := range []string{"object", "oldObject", "request", "variables"} {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(
		environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0),
			EnvOptions: options})
	if err != nil {
		return e, err
	}
	env, err := set.Env(environment.NewExpressions)
	if err != nil {
		return e, err
	}
	program := func(name, expression string) cel.Program {
		if err != nil {
			return nil
		}
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			// The text of the issues quotes the expression. All of it may be a line of 10 MB.
			err = CompileError{name, errors.New(issues.Errors()[0].Message)}
			return nil
		}
		p, failed := env.Program(ast, cel.CostLimit(celconfig.PerCallLimit),
			cel.CostTracking(&library.CostEstimator{}),
			cel.InterruptCheckFrequency(celconfig.CheckFrequency))
		if failed != nil {
			err = CompileError{name, failed}
		}
		return p
	}
	for _, c := range vap.Spec.MatchConditions {
		e.conditions = append(e.conditions, named{c.Name, program(c.Name, c.Expression)})
	}
	for _, v := range vap.Spec.Variables {
		e.variables = append(e.variables, named{v.Name, program(v.Name, v.Expression)})
	}
	for _, v := range vap.Spec.Validations {
		one := validation{expression: v.Expression, text: v.Message,
			holds: program(v.Expression, v.Expression)}
		if v.MessageExpression != "" {
			one.message = program(v.MessageExpression, v.MessageExpression)
		}
		e.validations = append(e.validations, one)
	}
	return e, err
}

// Verdict is the outcome of the expressions for a request.
type Verdict struct {
	// Skipped tells that the policy's conditions leave the request out.
	Skipped  bool
	Rejected []Rejection
	Cost     Cost
	Dearest  string // the variable or validation with the highest cost
}

// Cost is the cost of the expressions in the units of the API server. Call is the cost of the
// dearest expression, which it limits to 1,000,000. Request is the cost of all expressions of the
// dearest policy, which it limits to 10,000,000.
type Cost struct{ Call, Request uint64 }

// IsTooHigh reports whether the API server ends the evaluation.
func (c Cost) IsTooHigh() bool {
	return c.Call > celconfig.PerCallLimit || c.Request > celconfig.RuntimeCELCostBudget
}

// Rejection is the expression that rejects an object, or the name of the condition, and its
// message.
type Rejection struct{ Expression, Message string }

// Validate validates a request. before is the object that an update replaces, or nil. Both are as
// the API server stores them. An expression that cannot be evaluated rejects the object.
func (e *Expressions) Validate(ctx context.Context, object, before map[string]any,
	user string) (v Verdict) {
	v.Skipped = len(e.policies) > 0
	for _, p := range e.policies {
		one := p.validate(ctx, object, before, user)
		v.Skipped = v.Skipped && one.Skipped
		v.Rejected = append(v.Rejected, one.Rejected...)
		if one.Cost.Call > v.Cost.Call {
			v.Cost.Call, v.Dearest = one.Cost.Call, one.Dearest
		}
		v.Cost.Request = max(v.Cost.Request, one.Cost.Request)
	}
	return v
}

func (e *expressions) validate(ctx context.Context, object, before map[string]any,
	user string) (v Verdict) {
	variables := lazy.NewMapValue(types.NewMapType(types.StringType, types.DynType))
	input := map[string]any{"object": object, "oldObject": nil,
		"request":   map[string]any{"userInfo": map[string]any{"username": user}},
		"variables": variables}
	if before != nil {
		input["oldObject"] = before
	}
	run := func(name string, p cel.Program) ref.Val {
		value, details, err := p.ContextEval(ctx, input)
		if details != nil && details.ActualCost() != nil {
			cost := *details.ActualCost()
			if v.Cost.Request += cost; cost > v.Cost.Call {
				v.Cost.Call, v.Dearest = cost, name
			}
		}
		if err != nil {
			return types.WrapErr(err)
		}
		return value
	}
	for _, c := range e.conditions {
		switch matches := run(c.name, c.program); {
		case types.IsError(matches):
			v.Rejected = append(v.Rejected, Rejection{c.name, fmt.Sprint(matches)})
			return v
		case matches != types.True:
			v.Skipped = true
			return v
		}
	}
	for _, each := range e.variables {
		variables.Append(each.name, func(*lazy.MapValue) ref.Val {
			return run(each.name, each.program)
		})
	}
	for _, each := range e.validations {
		holds := run(each.expression, each.holds)
		if holds == types.True {
			continue
		}
		text := each.text
		if types.IsError(holds) {
			text = fmt.Sprint(holds)
		} else if each.message != nil {
			if messageText, ok := run(each.expression, each.message).Value().(string); ok {
				text = messageText
			}
		}
		v.Rejected = append(v.Rejected, Rejection{each.expression, text})
	}
	return v
}

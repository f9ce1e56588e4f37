package finding

// Code is the stable name of a kind of finding: TW and a number. docs/findings.md has a section for each. The first digit is
// the stage. Stage 1 is reading, 2 the check of the patches, 3 the merge with its conflicts, and 4 rendering. Stage 5 is
// admission, 6 later rejections by the API server, 7 updates, and 8 rewriting.
type Code string

// IsDispute reports whether a finding with the code is about values of managers of which the cluster drops some, or keeps too many.
func (c Code) IsDispute() bool {
	switch c {
	case CodeOverlap, CodeUnion, CodeNotComposed, CodeNoComposition:
		return true
	}
	return false
}

// AssumesRuntime reports whether the finding notes a runtime that the inputs lack and that comes from a release of the Trainer. A
// report shows it once, among notes as among other findings, and a strict run fails on it: a cluster may have changed the runtime.
func (f Finding) AssumesRuntime() bool { return f.Code == CodeNoRuntime && f.Severity == Note }

// Codes of the reader.
const (
	CodeSyntax         Code = "TW100" // not YAML or JSON, or hostile: too large, too deep, not text
	CodeUnknownField   Code = "TW101" // a field that the type lacks
	CodeDuplicateKey   Code = "TW102" // a duplicate key in one object
	CodeWrongType      Code = "TW103" // a value of another type than the field's
	CodeUnpatchable    Code = "TW104" // an existing field that no patch may set
	CodeAmbiguousWord  Code = "TW105" // a bare y, no, on … that YAML 1.1 reads as a boolean
	CodeOldVersion     Code = "TW106" // trainer.kubeflow.org/v2alpha1, read as v1alpha1
	CodeNotAnObject    Code = "TW107" // a document without apiVersion and kind
	CodeUnreadable     Code = "TW108" // a path that cannot be read
	CodeUnknownVersion Code = "TW109" // an unsupported version of a known kind
	CodeUnknownKind    Code = "TW110" // a kind that its group lacks, or a known kind of another group
	CodeGoldenCase     Code = "TW111" // a golden case below a directory, which is not read
	CodeBuildPart      Code = "TW112" // a patch of a kustomization or a template of a chart, which is no object before the build
	CodeOldAPI         Code = "TW120" // fields of Trainer 2.0 and 2.1 that 2.2 removed
	CodeTwoAPIs        Code = "TW121" // such fields and runtimePatches in one TrainJob
	CodeBuildFailed    Code = "TW122" // a directory whose build fails
	CodeBuildRefused   Code = "TW123" // a build that would fetch or run something
	CodeNothingToBuild Code = "TW124" // a directory without anything to build
	CodeBuildOutput    Code = "TW125" // a build whose output is no stream of YAML documents
	CodeBuildWrites    Code = "TW126" // a build that writes into the tree
)

// Codes of the check of the patches, before any merge.
const (
	CodeBadManager        Code = "TW200" // an invalid name of a manager: empty, too long, or without a domain
	CodeDuplicateManager  Code = "TW201" // two patches of one manager
	CodeUnknownJob        Code = "TW202" // a patch for a replicated job that the runtime lacks
	CodeUnknownContainer  Code = "TW203" // a patch for a container that the runtime lacks
	CodeEnvOnMain         Code = "TW204" // env patched on node or an initializer
	CodeValueAndValueFrom Code = "TW205" // an env with value and valueFrom
	CodeEnvWithoutName    Code = "TW206" // an env without a name
	CodeTwoSources        Code = "TW207" // two members of one union: two sources of a volume, …
	CodeDuplicateItem     Code = "TW208" // two items of one list that the API treats as one
	CodeDirective         Code = "TW209" // a $-directive as the key of a map
	CodeIgnoredMetadata   Code = "TW210" // metadata in a patch other than labels and annotations
	CodeDropsTolerations  Code = "TW211" // a toleration list that drops the runtime's
	CodeInitOrder         Code = "TW212" // init containers put into another order
	CodeEnvOrder          Code = "TW213" // an env that refers to a variable now defined after it
	CodeOneMountPath      Code = "TW214" // two mounts at one path in one patch
	CodeNoMergeKey        Code = "TW215" // an item without its merge key
)

// Codes of violations of a policy file.
const (
	CodeUnlistedManager Code = "TW230" // a manager that the policy does not list
	CodePatchOrder      Code = "TW231" // patches in another order than the policy's
	CodeForbiddenField  Code = "TW232" // a field that the policy does not let the manager set
	CodeMissingManager  Code = "TW233" // a TrainJob without the patch of a required manager
	CodeLostPatch       Code = "TW234" // an overlay that loses a patch of its base
	CodeUnfitRule       Code = "TW235" // a composition rule that does not fit its field
)

// Codes of the merge.
const (
	CodeOverlap     Code = "TW300" // two managers set one field to different values
	CodeUnion       Code = "TW301" // two managers set different members of one union
	CodeOverride    Code = "TW302" // a patch changes a value of the runtime
	CodeShadowed    Code = "TW303" // a later layer replaces the value of an earlier one
	CodeNoMerge     Code = "TW304" // a patch that the cluster cannot merge, so that it rejects the TrainJob
	CodeForced      Code = "TW305" // a claim lost to a manager that wins by force
	CodeNoSchema    Code = "TW306" // an object whose definition is missing, or does not describe how it merges
	CodeSameKey     Code = "TW307" // items of the base with one merge key, in a list that a patch merges with
	CodePolicyOrder Code = "TW308" // a variable that the cluster expands in some orders of its policies only

	CodeComposed      Code = "TW309" // a field whose last patch holds what a rule of the policy gives
	CodeNotComposed   Code = "TW310" // a field with another value than a rule of the policy gives
	CodeNoComposition Code = "TW311" // a field for which a rule of the policy gives no value
	CodeNothingToSet  Code = "TW312" // a TrainJob whose patches already hold what the rules give
	CodeZeroNull      Code = "TW313" // a field that a Go value leaves out and so removes
)

// Codes of rendering.
const (
	CodeNoRuntime        Code = "TW400" // the inputs lack the runtime
	CodeDuplicateObject  Code = "TW401" // two objects of one kind, namespace and name
	CodeTrainerEnvDrops  Code = "TW403" // spec.trainer.env with value and valueFrom: the value is dropped
	CodeUnknownRuntime   Code = "TW404" // runtimeRef names a kind that is not a runtime
	CodeEnvInjection     Code = "TW405" // envInjection names a container that the runtime lacks
	CodeUnsafeOutputName Code = "TW406" // a name that would leave the output directory
	CodeNoName           Code = "TW407" // a TrainJob, JobSet or runtime without a name
	CodeNoTrainJob       Code = "TW408" // inputs without any TrainJob
	CodeEditedOutput     Code = "TW409" // an edited output file that is obsolete
)

// Codes of rendering a JobSet's Jobs and Pods.
const (
	CodeSuspended        Code = "TW420" // the JobSet is suspended: its Pods start when it is resumed
	CodeManagedElsewhere Code = "TW421" // another controller manages the JobSet
	CodeNoSuchPod        Code = "TW422" // an endpoint without a Pod of the JobSet
	CodeNeverCreated     Code = "TW423" // Jobs or Pods that no cluster would ever create
	CodeUnknownPriority  Code = "TW424" // a PriorityClass whose value only the cluster knows
	CodeLeaderFirst      Code = "TW425" // Pods that wait until the leader of their Job is scheduled
	CodeRandomName       Code = "TW427" // names with a suffix that only the cluster knows
	CodeTooManyJobs      Code = "TW426" // more Jobs or Pods than this program writes
)

// Codes of the runtime's policies, and of the Trainer's controller.
const (
	CodeManagedByOther    Code = "TW430" // another controller manages the TrainJob
	CodeNeverResumed      Code = "TW431" // a suspended TrainJob that can never be resumed
	CodeSuspendReplaced   Code = "TW432" // the runtime's suspend is replaced by the TrainJob's
	CodeCountReplaced     Code = "TW433" // the runtime's parallelism or completions are replaced
	CodeReplicasReplaced  Code = "TW434" // the runtime's replicas become one
	CodePortLost          Code = "TW435" // a port of the runtime that the policy's port replaces
	CodePortsTakenForOne  Code = "TW436" // two ports that the controller treats as one: one is lost, one is duplicated
	CodeReachesNothing    Code = "TW437" // a field of the TrainJob that nothing reads
	CodeClaimsDropped     Code = "TW438" // resource claims next to resourcesPerNode get lost
	CodeFileKeyRef        Code = "TW439" // a variable of the TrainJob from a file: its source gets lost
	CodeNothingInjected   Code = "TW440" // the policy writes nothing: no spec.trainer, no trainer job, no node container
	CodeMasterAddress     Code = "TW441" // an address that the policy writes and that names no Pod
	CodeGPUsUnseen        Code = "TW442" // GPUs of the runtime that the policy does not count
	CodeSecondTrainer     Code = "TW443" // a second job with the trainer's label
	CodeMPINodes          Code = "TW444" // MPI sets numNodes on another job than intended
	CodeMPIImplementation Code = "TW445" // an mpiImplementation that the controller does not know
	CodeHostfile          Code = "TW446" // an MPI hostfile that is empty or too large
	CodeFluxNodes         Code = "TW447" // flux without spec.trainer.numNodes
	CodeFluxCommand       Code = "TW448" // flux runs another command than intended
	CodeGangCount         Code = "TW449" // a gang that waits for other Pods or resources than run
	CodeTwoGangs          Code = "TW450" // two gang schedulers at once
	CodeGangPriority      Code = "TW451" // a gang whose jobs have several priority classes
	CodeLeftOut           Code = "TW452" // an omitted object: a Secret, or a text of the Trainer's own
	CodePayload           Code = "TW453" // the input of an object cannot be read
	CodeNoUID             Code = "TW454" // owner references to a TrainJob without a uid
	CodeQueueMoves        Code = "TW455" // an applied JobSet that Kueue admits instead of its TrainJob
	CodeSuspendMoves      Code = "TW456" // an applied JobSet that is suspended apart from its TrainJob
	CodeNoController      Code = "TW457" // applied objects without what the Trainer's controller does for its own
	CodeSecretMoves       Code = "TW458" // a Secret that only the controller makes, or that the output holds
	CodeNoSnapshot        Code = "TW459" // an applied JobSet without the snapshot of its runtime
)

// Codes of the API server and the Trainer's webhooks, for rejected and for doubtful input.
const (
	CodeMissingField     Code = "TW500" // a field that the API requires
	CodeBadValue         Code = "TW501" // a value that the API does not accept
	CodeBrokenRule       Code = "TW502" // a violated rule of the API between values
	CodeBadMetadata      Code = "TW503" // a name, label or annotation that Kubernetes does not accept
	CodeRuntimeReplicas  Code = "TW510" // a trainer or initializer job whose replicas are not 1
	CodeRuntimeContainer Code = "TW511" // a trainer or initializer job without its container
	CodeNoInitializer    Code = "TW512" // an initializer in the TrainJob without a job, container or mount in the runtime
	CodeReservedEnv      Code = "TW513" // a variable in spec.trainer.env that the runtime's policy sets
	CodeTorchTune        Code = "TW514" // a feature that torchtune's runtimes lack
	CodeNoLauncher       Code = "TW515" // MPI on several nodes without the jobs launcher and node
	CodeFlux             Code = "TW516" // a setting that the flux policy does not accept
	CodeNoQueue          Code = "TW517" // an empty name of a Volcano queue
	CodeDeprecated       Code = "TW518" // a runtime that is marked as deprecated
	CodeRuntimeRefused   Code = "TW519" // a runtime that the cluster rejects, with its TrainJobs
)

// Codes of the JobSet's webhook.
const (
	CodeJobSetName        Code = "TW530" // names of Jobs, Pods or groups that are not DNS labels
	CodeJobSetNetwork     Code = "TW531" // a subdomain that is not a DNS label
	CodeJobSetDependsOn   Code = "TW532" // dependsOn on a job other than an earlier one
	CodeJobSetPolicy      Code = "TW533" // a success or failure policy that cannot work
	CodeJobSetCoordinator Code = "TW534" // a coordinator that is not a Pod of the JobSet
	CodeJobSetClaim       Code = "TW535" // a volume claim policy that cannot work
	CodeJobSetManagedBy   Code = "TW536" // a managedBy that is not a domain and path
	CodeJobSetGate        Code = "TW537" // a feature behind an alpha feature gate of JobSet
	CodeJobSetTooLarge    Code = "TW538" // more Pods than JobSet counts
)

// Codes of input that the cluster accepts but that is probably a mistake.
const (
	CodeAncestorMoved   Code = "TW540" // a patch that adds or removes the trainer's or an initializer's label
	CodeIdlePatch       Code = "TW541" // a patch that changes nothing
	CodePrivilegedPatch Code = "TW542" // a patch that gives containers power over the node
	CodeNoTrainerLabel  Code = "TW543" // a runtime without a job with the trainer's label
	CodeRuntimeImage    Code = "TW544" // a runtime's container without an image, where no TrainJob names the runtime
)

// Codes of the API server's rejections of objects that a controller creates.
const (
	CodeNoImage         Code = "TW600" // a container without an image
	CodeBadName         Code = "TW601" // a name of a container, volume or reference that Kubernetes does not accept
	CodeResources       Code = "TW602" // impossible resources
	CodeMount           Code = "TW603" // a mount without a volume, or two at one path
	CodeVolume          Code = "TW604" // a volume source that cannot be mounted
	CodeEnv             Code = "TW605" // a variable that cannot be set
	CodeJobSpec         Code = "TW606" // counts and policies of a Job that the Job API does not accept
	CodeRestartPolicy   Code = "TW607" // a restart policy that a Job does not accept
	CodeBadLabel        Code = "TW608" // a label or annotation that Kubernetes does not accept
	CodeReservedLabel   Code = "TW609" // a label or selector that the Job API reserves
	CodeScheduling      Code = "TW610" // scheduling rules that Kubernetes does not accept
	CodeProbe           Code = "TW611" // a probe or lifecycle hook that cannot work
	CodePort            Code = "TW612" // an invalid port
	CodeSecurityContext Code = "TW613" // a security context that Kubernetes does not accept
	CodeClaim           Code = "TW614" // a volume claim that Kubernetes does not accept
	CodePodSpec         Code = "TW615" // another field of a Pod that Kubernetes does not accept
	CodeNoPriorityClass Code = "TW616" // a PriorityClass that the inputs lack
	CodeNoRuntimeClass  Code = "TW617" // a RuntimeClass that the inputs lack
)

// Codes of updates.
const (
	CodeImmutable        Code = "TW700" // a field that cannot be changed
	CodePatchedRunning   Code = "TW701" // patches changed while the job is running
	CodeEndlessUpdate    Code = "TW702" // a change that the JobSet never accepts, so that the Trainer retries without end
	CodeUpdateIgnored    Code = "TW703" // a change that does not reach the running job
	CodeUnknownOldObject Code = "TW704" // an old object of another kind or name than the new one
	CodeMovedQueue       Code = "TW705" // another queue of a job that is not suspended
)

// Codes of rewriting objects of earlier versions.
const (
	CodeNotMigrated   Code = "TW800" // an object that cannot be rewritten in its file
	CodeNotProved     Code = "TW801" // a rewrite that could not be compared with its source
	CodeMigratesOther Code = "TW802" // a rewrite that renders differently than its source
	CodeSaidNothing   Code = "TW803" // a field without effect that a rewrite omits
)

// Codes of repairs.
const (
	CodeNotRepaired Code = "TW810" // a repair that the text does not allow
	CodeGenerated   Code = "TW811" // a repair in a file that another program writes
	CodeSharedPatch Code = "TW812" // a repair in a patch that TrainJobs share, of which some do not need it
)

// Codes of converting objects of kubeflow.org/v1.
const (
	CodeNotCarried      Code = "TW820" // a feature that the Trainer lacks, or that its API cannot express
	CodeOldInvalid      Code = "TW821" // input that the old API rejects as well
	CodeMappedOtherwise Code = "TW822" // a field that is converted with another meaning
	CodeDroppedField    Code = "TW823" // an omitted field, which had no effect or belongs to the cluster
	CodeReaddressed     Code = "TW824" // an old address of a Pod that is rewritten
	CodeEnvReplaced     Code = "TW825" // a variable that the old controller replaced
	CodeNeedsSSH        Code = "TW826" // images that need SSH now
	CodeRuntimeDecides  Code = "TW827" // a value from the existing runtime, not from the job
	CodeRuntimeOnly     Code = "TW828" // a value that only a runtime of the job's own can hold
)

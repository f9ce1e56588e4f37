package finding

// Code is the stable name of a kind of finding: TW and a number. docs/findings.md has a section
// for each. The first digit says which stage found it: 1 reading, 2 the patches, 3 the merge and
// its conflicts, 4 rendering, 5 admission, 6 what the API server refuses later, 7 updates,
// 8 rewriting.
type Code string

// What reading the input found.
const (
	CodeSyntax         Code = "TW100" // not YAML or JSON, or hostile: too large, too deep, not text
	CodeUnknownField   Code = "TW101" // a field that the type does not have
	CodeDuplicateKey   Code = "TW102" // one key twice in one object
	CodeWrongType      Code = "TW103" // a value of another type than the field's
	CodeUnpatchable    Code = "TW104" // a field that exists but that no patch may set
	CodeAmbiguousWord  Code = "TW105" // a bare y, no, on … that YAML 1.1 reads as a boolean
	CodeOldVersion     Code = "TW106" // trainer.kubeflow.org/v2alpha1, read as v1alpha1
	CodeNotAnObject    Code = "TW107" // a document without apiVersion and kind
	CodeUnreadable     Code = "TW108" // a path that cannot be read
	CodeUnknownVersion Code = "TW109" // a version of a known kind that this program does not read
	CodeUnknownKind    Code = "TW110" // a kind that its group does not have, or a known kind of another group
	CodeOldAPI         Code = "TW120" // fields of Trainer 2.0 and 2.1 that 2.2 took away
	CodeTwoAPIs        Code = "TW121" // such fields and runtimePatches in one TrainJob
)

// What the check of the patches, before any merge, found.
const (
	CodeBadManager        Code = "TW200" // a manager's name that is empty, too long or has no domain
	CodeDuplicateManager  Code = "TW201" // two patches of one manager
	CodeUnknownJob        Code = "TW202" // a patch for a replicated job that the runtime lacks
	CodeUnknownContainer  Code = "TW203" // a patch for a container that the runtime lacks
	CodeEnvOnMain         Code = "TW204" // env patched on node or an initializer
	CodeValueAndValueFrom Code = "TW205" // an env with value and valueFrom
	CodeEnvWithoutName    Code = "TW206" // an env without a name
	CodeTwoSources        Code = "TW207" // two members of one union: two sources of a volume, …
	CodeDuplicateItem     Code = "TW208" // two items of one list that the API takes for one
	CodeDirective         Code = "TW209" // a $-directive as the key of a map
	CodeIgnoredMetadata   Code = "TW210" // metadata in a patch other than labels and annotations
	CodeDropsTolerations  Code = "TW211" // a toleration list that drops the runtime's
	CodeInitOrder         Code = "TW212" // init containers put into another order
	CodeEnvOrder          Code = "TW213" // an env that refers to a variable now defined after it
	CodeOneMountPath      Code = "TW214" // two mounts at one path in one patch
	CodeNoMergeKey        Code = "TW215" // an item without its merge key
)

// What the merge found.
const (
	CodeOverlap  Code = "TW300" // two managers set one field to different values
	CodeUnion    Code = "TW301" // two managers set different members of one union
	CodeOverride Code = "TW302" // a patch changes what the runtime set
	CodeShadowed Code = "TW303" // a later layer replaces what an earlier one set
	CodeNoMerge  Code = "TW304" // a patch that the cluster cannot merge, so that it refuses the TrainJob
	CodeForced   Code = "TW305" // a claim gave way to a manager that was let win
	CodeNoSchema Code = "TW306" // an object whose definition is missing, or says nothing of how it merges
	CodeSameKey  Code = "TW307" // items of the base with one merge key, in a list that a patch merges with
)

// What rendering found.
const (
	CodeNoRuntime        Code = "TW400" // the runtime is not among the inputs
	CodeDuplicateObject  Code = "TW401" // two objects of one kind, namespace and name
	CodeTrainerEnvDrops  Code = "TW403" // spec.trainer.env with value and valueFrom: the value is dropped
	CodeUnknownRuntime   Code = "TW404" // runtimeRef names a kind that is not a runtime
	CodeEnvInjection     Code = "TW405" // envInjection names a container that the runtime lacks
	CodeUnsafeOutputName Code = "TW406" // a name that would leave the output directory
	CodeNoName           Code = "TW407" // a TrainJob, JobSet or runtime without a name
	CodeNoTrainJob       Code = "TW408" // inputs without any TrainJob
	CodeEditedOutput     Code = "TW409" // a file that is made no longer, and that somebody has changed
)

// What rendering a JobSet's Jobs and Pods found.
const (
	CodeSuspended        Code = "TW420" // the JobSet is suspended: its Pods come when it is resumed
	CodeManagedElsewhere Code = "TW421" // another controller manages the JobSet
	CodeNoSuchPod        Code = "TW422" // an endpoint that names no Pod of the JobSet
	CodeNeverCreated     Code = "TW423" // Jobs or Pods that no cluster would ever create
	CodeUnknownPriority  Code = "TW424" // a PriorityClass whose value only the cluster knows
	CodeLeaderFirst      Code = "TW425" // Pods that wait until the leader of their Job is scheduled
	CodeRandomName       Code = "TW427" // names with a suffix that only the cluster knows
	CodeTooManyJobs      Code = "TW426" // more Jobs or Pods than this program writes
)

// What the runtime's policies, and the controller beside them, do with a TrainJob.
const (
	CodeManagedByOther    Code = "TW430" // another controller manages the TrainJob
	CodeNeverResumed      Code = "TW431" // a suspended TrainJob that can never be resumed
	CodeSuspendReplaced   Code = "TW432" // the runtime's suspend is replaced by the TrainJob's
	CodeCountReplaced     Code = "TW433" // the runtime's parallelism or completions are replaced
	CodeReplicasReplaced  Code = "TW434" // the runtime's replicas become one
	CodePortLost          Code = "TW435" // a port of the runtime that the policy's port replaces
	CodePortsTakenForOne  Code = "TW436" // two ports that the controller takes for one: one is lost, one doubled
	CodeReachesNothing    Code = "TW437" // a field of the TrainJob that nothing reads
	CodeClaimsDropped     Code = "TW438" // resource claims beside resourcesPerNode get lost
	CodeFileKeyRef        Code = "TW439" // a variable of the TrainJob from a file: its source gets lost
	CodeNothingInjected   Code = "TW440" // the policy writes nothing: no spec.trainer, no trainer job, no node container
	CodeMasterAddress     Code = "TW441" // an address that the policy writes and that names no Pod
	CodeGPUsUnseen        Code = "TW442" // GPUs of the runtime that the policy does not count
	CodeSecondTrainer     Code = "TW443" // a second job with the trainer's label
	CodeMPINodes          Code = "TW444" // MPI gives numNodes to another job than meant
	CodeMPIImplementation Code = "TW445" // an mpiImplementation that the controller does not know
	CodeHostfile          Code = "TW446" // an MPI hostfile that is empty or too large
	CodeFluxNodes         Code = "TW447" // flux without spec.trainer.numNodes
	CodeFluxCommand       Code = "TW448" // flux runs another command than meant
	CodeGangCount         Code = "TW449" // a gang that waits for other Pods or resources than run
	CodeTwoGangs          Code = "TW450" // two gang schedulers at once
	CodeGangPriority      Code = "TW451" // a gang whose jobs have several priority classes
	CodeLeftOut           Code = "TW452" // an object that is left out: a Secret, or a text of the Trainer's own
	CodePayload           Code = "TW453" // what an object is to be made of cannot be read
	CodeNoUID             Code = "TW454" // owner references to a TrainJob without a uid
)

// What the API server and the Trainer's webhooks refuse, or take and hardly should.
const (
	CodeMissingField     Code = "TW500" // a field that the API requires
	CodeBadValue         Code = "TW501" // a value outside of what the API takes
	CodeBrokenRule       Code = "TW502" // a rule of the API between values that does not hold
	CodeBadMetadata      Code = "TW503" // a name, label or annotation that Kubernetes does not take
	CodeRuntimeReplicas  Code = "TW510" // a trainer or initializer job whose replicas are not 1
	CodeRuntimeContainer Code = "TW511" // a trainer or initializer job without its container
	CodeNoInitializer    Code = "TW512" // an initializer in the TrainJob that the runtime has no job, container or mount for
	CodeReservedEnv      Code = "TW513" // a variable in spec.trainer.env that the runtime's policy sets
	CodeTorchTune        Code = "TW514" // what torchtune's runtimes cannot do
	CodeNoLauncher       Code = "TW515" // MPI on several nodes without the jobs launcher and node
	CodeFlux             Code = "TW516" // what the flux policy does not take
	CodeNoQueue          Code = "TW517" // an empty name of a Volcano queue
	CodeDeprecated       Code = "TW518" // a runtime that is marked as deprecated
	CodeRuntimeRefused   Code = "TW519" // a runtime that the cluster refuses, and its TrainJobs with it
)

// What the JobSet's webhook refuses.
const (
	CodeJobSetName        Code = "TW530" // names of Jobs, Pods or groups that are no DNS labels
	CodeJobSetNetwork     Code = "TW531" // a subdomain that is no DNS label
	CodeJobSetDependsOn   Code = "TW532" // dependsOn on a job that is not an earlier one
	CodeJobSetPolicy      Code = "TW533" // a success or failure policy that cannot work
	CodeJobSetCoordinator Code = "TW534" // a coordinator that is no Pod of the JobSet
	CodeJobSetClaim       Code = "TW535" // a volume claim policy that cannot work
	CodeJobSetManagedBy   Code = "TW536" // a managedBy that is no domain and path
	CodeJobSetGate        Code = "TW537" // what JobSet only does with an alpha feature gate
	CodeJobSetTooLarge    Code = "TW538" // more Pods than JobSet counts
)

// What the cluster takes and its author hardly meant.
const (
	CodeAncestorMoved   Code = "TW540" // a patch that takes away or gives the trainer's or an initializer's label
	CodeIdlePatch       Code = "TW541" // a patch that changes nothing
	CodePrivilegedPatch Code = "TW542" // a patch that gives containers power over the node
)

// What the API server refuses when a controller creates an object.
const (
	CodeNoImage         Code = "TW600" // a container without an image
	CodeBadName         Code = "TW601" // a name of a container, volume or reference that Kubernetes does not take
	CodeResources       Code = "TW602" // resources that cannot be had
	CodeMount           Code = "TW603" // a mount of no volume, or two at one path
	CodeVolume          Code = "TW604" // a volume source that cannot be mounted
	CodeEnv             Code = "TW605" // a variable that cannot be set
	CodeJobSpec         Code = "TW606" // counts and policies of a Job that the Job API does not take
	CodeRestartPolicy   Code = "TW607" // a restart policy that a Job does not take
	CodeBadLabel        Code = "TW608" // a label or annotation that Kubernetes does not take
	CodeReservedLabel   Code = "TW609" // a label or selector that the Job API keeps for itself
	CodeScheduling      Code = "TW610" // where Pods may run, said in a way that Kubernetes does not take
	CodeProbe           Code = "TW611" // a probe or lifecycle hook that cannot work
	CodePort            Code = "TW612" // a port that cannot be
	CodeSecurityContext Code = "TW613" // a security context that Kubernetes does not take
	CodeClaim           Code = "TW614" // a volume claim that Kubernetes does not take
	CodePodSpec         Code = "TW615" // another field of a Pod that Kubernetes does not take
	CodeNoPriorityClass Code = "TW616" // a PriorityClass that is not among the inputs
	CodeNoRuntimeClass  Code = "TW617" // a RuntimeClass that is not among the inputs
)

// What an update runs into.
const (
	CodeImmutable        Code = "TW700" // a field that cannot be changed
	CodePatchedRunning   Code = "TW701" // patches changed while the job is running
	CodeEndlessUpdate    Code = "TW702" // a change that the JobSet never takes, so that the Trainer tries for ever
	CodeUpdateIgnored    Code = "TW703" // a change that does not reach the running job
	CodeUnknownOldObject Code = "TW704" // an old object that is of another kind or name than the new one
)

// What rewriting objects of earlier versions found.
const (
	CodeNotMigrated   Code = "TW800" // an object that cannot be rewritten in its file
	CodeNotProved     Code = "TW801" // a rewrite that could not be compared with what it was made of
	CodeMigratesOther Code = "TW802" // a rewrite that renders otherwise than what it was made of
	CodeSaidNothing   Code = "TW803" // a field that had no effect, and that a rewrite leaves out
)

// What converting objects of kubeflow.org/v1 found.
const (
	CodeNotCarried      Code = "TW820" // what the Trainer cannot do, or cannot be told
	CodeOldInvalid      Code = "TW821" // what the old API refuses as well
	CodeMappedOtherwise Code = "TW822" // what is carried with another meaning
	CodeDroppedField    Code = "TW823" // what is left out, since it did nothing or is the cluster's to write
	CodeReaddressed     Code = "TW824" // an old address of a Pod that is written as the new one
	CodeEnvReplaced     Code = "TW825" // a variable that the old controller wrote over
	CodeNeedsSSH        Code = "TW826" // images that need SSH now
	CodeRuntimeDecides  Code = "TW827" // what the existing runtime says, and not the job
	CodeRuntimeOnly     Code = "TW828" // what only a runtime of the job's own can say
)

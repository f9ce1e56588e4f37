// Code generated from render/codes/codes.txt by go test ./render/codes -update; DO NOT EDIT.

package codes

import "github.com/trainweld/trainweld/finding"

// Codes of the page docs/findings/reading.md.
const (
	Syntax         finding.Code = "TW100" // not readable as YAML or JSON
	UnknownField   finding.Code = "TW101" // unknown field
	DuplicateKey   finding.Code = "TW102" // duplicate key
	WrongType      finding.Code = "TW103" // wrong type
	Unpatchable    finding.Code = "TW104" // field that no patch may set
	AmbiguousWord  finding.Code = "TW105" // bare word read as a boolean
	OldVersion     finding.Code = "TW106" // v2alpha1
	NotAnObject    finding.Code = "TW107" // not an object
	Unreadable     finding.Code = "TW108" // unreadable path
	UnknownVersion finding.Code = "TW109" // unsupported version
	UnknownKind    finding.Code = "TW110" // unknown kind
	GoldenCase     finding.Code = "TW111" // golden case skipped
	BuildPart      finding.Code = "TW112" // part of a build skipped
	UntestedMinor  finding.Code = "TW113" // Kubernetes without tests
	OldAPI         finding.Code = "TW120" // field of Trainer 2.1
	TwoAPIs        finding.Code = "TW121" // fields of two APIs
	BuildFailed    finding.Code = "TW122" // build fails
	BuildRejected  finding.Code = "TW123" // build needs the network or a program
	NothingToBuild finding.Code = "TW124" // nothing to build
	BuildOutput    finding.Code = "TW125" // bad build output
)

// Codes of the page docs/findings/patches.md.
const (
	BadManager        finding.Code = "TW200" // invalid manager
	DuplicateManager  finding.Code = "TW201" // duplicate manager
	UnknownJob        finding.Code = "TW202" // patch for an unknown job
	UnknownContainer  finding.Code = "TW203" // patch for an unknown container
	EnvOnMain         finding.Code = "TW204" // env of a main container
	ValueAndValueFrom finding.Code = "TW205" // value and valueFrom
	EnvWithoutName    finding.Code = "TW206" // variable without a name
	TwoSources        finding.Code = "TW207" // two members of a union
	DuplicateItem     finding.Code = "TW208" // duplicate item
	Directive         finding.Code = "TW209" // directive as a key
	IgnoredMetadata   finding.Code = "TW210" // metadata that a patch does not set
	DropsTolerations  finding.Code = "TW211" // patch drops tolerations
	InitOrder         finding.Code = "TW212" // init containers reordered
	EnvOrder          finding.Code = "TW213" // reference to a later variable
	OneMountPath      finding.Code = "TW214" // two mounts at one path
	NoMergeKey        finding.Code = "TW215" // item without its key
)

// Codes of the page docs/findings/policy.md.
const (
	UnlistedManager finding.Code = "TW230" // unlisted manager
	PatchOrder      finding.Code = "TW231" // patches in another order
	ForbiddenField  finding.Code = "TW232" // forbidden field
	MissingManager  finding.Code = "TW233" // required manager missing
	LostPatch       finding.Code = "TW234" // overlay loses a patch
	PolicyOverlap   finding.Code = "TW236" // policies overlap in the cluster
)

// Codes of the page docs/findings/merge.md.
const (
	Overlap                  = finding.CodeOverlap  // managers set different values
	Union                    = finding.CodeUnion    // managers set different members of a union
	Override    finding.Code = "TW302"              // patch overrides the runtime
	Shadowed    finding.Code = "TW303"              // value replaced later
	NoMerge     finding.Code = "TW304"              // patch that cannot be merged
	Forced                   = finding.CodeForced   // value overridden by force
	NoSchema    finding.Code = "TW306"              // no schema for the merge
	SameKey     finding.Code = "TW307"              // items share a merge key
	ZeroNull                 = finding.CodeZeroNull // Go value removes fields
	GitOrder    finding.Code = "TW314"              // order in Git decides
	GitOverride finding.Code = "TW315"              // overlay overrides
)

// Codes of the page docs/findings/rendering.md.
const (
	NoRuntime        finding.Code = "TW400" // runtime not found
	DuplicateObject  finding.Code = "TW401" // duplicate object
	TrainerEnvDrops  finding.Code = "TW403" // value of a variable dropped
	UnknownRuntime   finding.Code = "TW404" // runtimeRef of another kind
	EnvInjection     finding.Code = "TW405" // envInjection of an unknown container
	UnsafeOutputName finding.Code = "TW406" // unsafe file name
	NoName           finding.Code = "TW407" // missing name
	NoTrainJob       finding.Code = "TW408" // no TrainJob
	EditedOutput     finding.Code = "TW409" // obsolete file with edits
	Suspended        finding.Code = "TW420" // suspended JobSet
	ManagedElsewhere finding.Code = "TW421" // JobSet managed elsewhere
	NoSuchPod        finding.Code = "TW422" // endpoint without a Pod
	NeverCreated     finding.Code = "TW423" // never created
	UnknownPriority  finding.Code = "TW424" // unknown priority value
	LeaderFirst      finding.Code = "TW425" // Pods wait for their leader
	TooManyJobs      finding.Code = "TW426" // too many Jobs or Pods
	RandomName       finding.Code = "TW427" // random suffix
)

// Codes of the page docs/findings/controller.md.
const (
	ManagedByOther    finding.Code = "TW430" // TrainJob managed elsewhere
	NeverResumed      finding.Code = "TW431" // TrainJob that cannot resume
	SuspendReplaced   finding.Code = "TW432" // suspend of the runtime replaced
	CountReplaced     finding.Code = "TW433" // parallelism or completions replaced
	ReplicasReplaced  finding.Code = "TW434" // replicas become one
	PortLost          finding.Code = "TW435" // port lost to the policy
	PortsTakenForOne  finding.Code = "TW436" // two ports treated as one
	ReachesNothing    finding.Code = "TW437" // field without effect
	ClaimsDropped     finding.Code = "TW438" // resource claims dropped
	FileKeyRef        finding.Code = "TW439" // fileKeyRef lost
	NothingInjected   finding.Code = "TW440" // policy without effect
	MasterAddress     finding.Code = "TW441" // policy's address without a Pod
	GPUsUnseen        finding.Code = "TW442" // GPUs not counted
	SecondTrainer     finding.Code = "TW443" // second trainer job
	MPINodes          finding.Code = "TW444" // numNodes reaches another MPI job
	MPIImplementation finding.Code = "TW445" // unknown MPI implementation
	Hostfile          finding.Code = "TW446" // hostfile empty or too large
	FluxNodes         finding.Code = "TW447" // flux without numNodes
	FluxCommand       finding.Code = "TW448" // flux runs another command
	GangCount         finding.Code = "TW449" // gang waits for other Pods
	TwoGangs          finding.Code = "TW450" // two gang schedulers
	GangPriority      finding.Code = "TW451" // several priority classes in a gang
	LeftOut           finding.Code = "TW452" // object left out
	Payload           finding.Code = "TW453" // input of an object unreadable
	NoUID             finding.Code = "TW454" // owner reference without a uid
	QueueMoves        finding.Code = "TW455" // Kueue admits the JobSet
	SuspendMoves      finding.Code = "TW456" // JobSet suspended alone
	NoController      finding.Code = "TW457" // no controller for applied objects
	SecretMoves       finding.Code = "TW458" // Secret of the controller
	NoSnapshot        finding.Code = "TW459" // no snapshot of the runtime
	Extended          finding.Code = "TW460" // extended patches need another runtime
	BaseMoved         finding.Code = "TW461" // derived from another base
	LaunchShape       finding.Code = "TW462" // launch of another size
	NotAdmitted       finding.Code = "TW467" // flavors that Kueue cannot assign
	NoPodSets         finding.Code = "TW468" // no Workload in Kueue
	QueueCounts       finding.Code = "TW469" // Kueue counts other Pods
	ClaimUncounted    finding.Code = "TW470" // claim without GPUs to count
	ClaimGate         finding.Code = "TW471" // claims need a feature gate
)

// Codes of the page docs/findings/admission.md.
const (
	MissingField      finding.Code = "TW500" // required field missing
	BadValue          finding.Code = "TW501" // invalid value
	BrokenRule        finding.Code = "TW502" // rule between fields broken
	BadMetadata       finding.Code = "TW503" // invalid metadata
	RuntimeReplicas   finding.Code = "TW510" // replicas of a labeled job
	RuntimeContainer  finding.Code = "TW511" // labeled job without its container
	NoInitializer     finding.Code = "TW512" // initializer without a place
	ReservedEnv       finding.Code = "TW513" // reserved variable
	TorchTune         finding.Code = "TW514" // no torchtune recipe
	NoLauncher        finding.Code = "TW515" // MPI lacks launcher or node
	Flux              finding.Code = "TW516" // flux setting rejected
	NoQueue           finding.Code = "TW517" // empty queue
	Deprecated        finding.Code = "TW518" // deprecated runtime
	RuntimeRejected   finding.Code = "TW519" // runtime rejected
	LongJobName       finding.Code = "TW520" // name of a replicated job too long
	NoPodClaim        finding.Code = "TW521" // container's claim without a claim of the Pod
	JobSetName        finding.Code = "TW530" // JobSet name too long or invalid
	JobSetNetwork     finding.Code = "TW531" // invalid subdomain
	JobSetDependsOn   finding.Code = "TW532" // dependsOn of no earlier job
	JobSetPolicy      finding.Code = "TW533" // invalid success or failure policy
	JobSetCoordinator finding.Code = "TW534" // invalid coordinator
	JobSetClaim       finding.Code = "TW535" // invalid volume claim policy
	JobSetManagedBy   finding.Code = "TW536" // invalid managedBy
	JobSetGate        finding.Code = "TW537" // feature gate off
	JobSetTooLarge    finding.Code = "TW538" // more Pods than JobSet counts
	AncestorMoved     finding.Code = "TW540" // patch moves a section's label
	IdlePatch         finding.Code = "TW541" // patch without effect
	PrivilegedPatch   finding.Code = "TW542" // patch gives power over the node
	NoTrainerLabel    finding.Code = "TW543" // no trainer label
	RuntimeImage      finding.Code = "TW544" // runtime container without an image
)

// Codes of the page docs/findings/pods.md.
const (
	NoImage         finding.Code = "TW600" // container without an image
	BadName         finding.Code = "TW601" // invalid name in a Pod
	Resources       finding.Code = "TW602" // invalid resources
	Mount           finding.Code = "TW603" // invalid mount
	Volume          finding.Code = "TW604" // invalid volume
	Env             finding.Code = "TW605" // invalid variable
	JobSpec         finding.Code = "TW606" // invalid Job
	RestartPolicy   finding.Code = "TW607" // invalid restart policy
	BadLabel        finding.Code = "TW608" // invalid label of a Job or Pod
	ReservedLabel   finding.Code = "TW609" // reserved label
	Scheduling      finding.Code = "TW610" // invalid scheduling rule
	Probe           finding.Code = "TW611" // invalid probe or hook
	Port            finding.Code = "TW612" // invalid port
	SecurityContext finding.Code = "TW613" // invalid security context
	Claim           finding.Code = "TW614" // invalid volume claim
	PodSpec         finding.Code = "TW615" // invalid field of a Pod
	NoPriorityClass finding.Code = "TW616" // unknown PriorityClass
	NoRuntimeClass  finding.Code = "TW617" // unknown RuntimeClass
	ImageName       finding.Code = "TW618" // image that no kubelet can pull
	DropsField      finding.Code = "TW619" // field that Kubernetes drops
	RelativeDir     finding.Code = "TW620" // relative working directory
)

// Codes of the page docs/findings/updates.md.
const (
	Immutable        finding.Code = "TW700" // immutable field
	PatchedRunning   finding.Code = "TW701" // patches changed while running
	EndlessUpdate    finding.Code = "TW702" // change that JobSet never accepts
	UpdateIgnored    finding.Code = "TW703" // change does not reach the job
	UnknownOldObject finding.Code = "TW704" // another object
	MovedQueue       finding.Code = "TW705" // queue changed while running
	Respelled        finding.Code = "TW706" // value that a webhook respells
)

// Codes of the page docs/findings/rewriting.md.
const (
	NotMigrated     finding.Code = "TW800" // not rewritten
	NotProved       finding.Code = "TW801" // not proved
	MigratesOther   finding.Code = "TW802" // renders otherwise
	SaidNothing     finding.Code = "TW803" // override without a job
	NotCarried      finding.Code = "TW820" // not supported by the Trainer
	OldInvalid      finding.Code = "TW821" // invalid in the old API
	MappedOtherwise finding.Code = "TW822" // converted with another meaning
	DroppedField    finding.Code = "TW823" // field omitted
	Readdressed     finding.Code = "TW824" // address rewritten
	EnvReplaced     finding.Code = "TW825" // variable replaced
	NeedsSSH        finding.Code = "TW826" // images need SSH
)

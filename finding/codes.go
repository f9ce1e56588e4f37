// Code generated from render/codes/codes.txt by go test ./render/codes -update; DO NOT EDIT.

package finding

// Codes of the page docs/findings/reading.md.
const (
	CodeSyntax         Code = "TW100" // not readable as YAML or JSON
	CodeUnknownField   Code = "TW101" // unknown field
	CodeDuplicateKey   Code = "TW102" // duplicate key
	CodeWrongType      Code = "TW103" // wrong type
	CodeUnpatchable    Code = "TW104" // field that no patch may set
	CodeAmbiguousWord  Code = "TW105" // bare word read as a boolean
	CodeOldVersion     Code = "TW106" // v2alpha1
	CodeNotAnObject    Code = "TW107" // not an object
	CodeUnreadable     Code = "TW108" // unreadable path
	CodeUnknownVersion Code = "TW109" // unsupported version
	CodeUnknownKind    Code = "TW110" // unknown kind
	CodeGoldenCase     Code = "TW111" // golden case skipped
	CodeBuildPart      Code = "TW112" // part of a build skipped
	CodeOldAPI         Code = "TW120" // field of Trainer 2.1
	CodeTwoAPIs        Code = "TW121" // fields of two APIs
	CodeBuildFailed    Code = "TW122" // build fails
	CodeBuildRejected  Code = "TW123" // build needs the network or a program
	CodeNothingToBuild Code = "TW124" // nothing to build
	CodeBuildOutput    Code = "TW125" // bad build output
	CodeBuildWrites    Code = "TW126" // build writes a file
)

// Codes of the page docs/findings/patches.md.
const (
	CodeBadManager        Code = "TW200" // invalid manager
	CodeDuplicateManager  Code = "TW201" // duplicate manager
	CodeUnknownJob        Code = "TW202" // patch for an unknown job
	CodeUnknownContainer  Code = "TW203" // patch for an unknown container
	CodeEnvOnMain         Code = "TW204" // env of a main container
	CodeValueAndValueFrom Code = "TW205" // value and valueFrom
	CodeEnvWithoutName    Code = "TW206" // variable without a name
	CodeTwoSources        Code = "TW207" // two members of a union
	CodeDuplicateItem     Code = "TW208" // duplicate item
	CodeDirective         Code = "TW209" // directive as a key
	CodeIgnoredMetadata   Code = "TW210" // metadata that a patch does not set
	CodeDropsTolerations  Code = "TW211" // patch drops tolerations
	CodeInitOrder         Code = "TW212" // init containers reordered
	CodeEnvOrder          Code = "TW213" // reference to a later variable
	CodeOneMountPath      Code = "TW214" // two mounts at one path
	CodeNoMergeKey        Code = "TW215" // item without its key
)

// Codes of the page docs/findings/policy.md.
const (
	CodeUnlistedManager Code = "TW230" // unlisted manager
	CodePatchOrder      Code = "TW231" // patches in another order
	CodeForbiddenField  Code = "TW232" // forbidden field
	CodeMissingManager  Code = "TW233" // required manager missing
	CodeLostPatch       Code = "TW234" // overlay loses a patch
	CodeUnfitRule       Code = "TW235" // rule does not fit its field
	CodePolicyOverlap   Code = "TW236" // policies overlap in the cluster
)

// Codes of the page docs/findings/merge.md.
const (
	CodeOverlap       Code = "TW300" // managers set different values
	CodeUnion         Code = "TW301" // managers set different members of a union
	CodeOverride      Code = "TW302" // patch overrides the runtime
	CodeShadowed      Code = "TW303" // value replaced later
	CodeNoMerge       Code = "TW304" // patch that cannot be merged
	CodeForced        Code = "TW305" // value overridden by force
	CodeNoSchema      Code = "TW306" // no schema for the merge
	CodeSameKey       Code = "TW307" // items share a merge key
	CodePolicyOrder   Code = "TW308" // order of policies decides
	CodeComposed      Code = "TW309" // last patch sets the rule's value
	CodeNotComposed   Code = "TW310" // last patch misses the rule's value
	CodeNoComposition Code = "TW311" // rule gives no value
	CodeNothingToSet  Code = "TW312" // nothing to compose
	CodeZeroNull      Code = "TW313" // Go value removes fields
)

// Codes of the page docs/findings/rendering.md.
const (
	CodeNoRuntime        Code = "TW400" // runtime not found
	CodeDuplicateObject  Code = "TW401" // duplicate object
	CodeTrainerEnvDrops  Code = "TW403" // value of a variable dropped
	CodeUnknownRuntime   Code = "TW404" // runtimeRef of another kind
	CodeEnvInjection     Code = "TW405" // envInjection of an unknown container
	CodeUnsafeOutputName Code = "TW406" // unsafe file name
	CodeNoName           Code = "TW407" // missing name
	CodeNoTrainJob       Code = "TW408" // no TrainJob
	CodeEditedOutput     Code = "TW409" // obsolete file with edits
	CodeSuspended        Code = "TW420" // suspended JobSet
	CodeManagedElsewhere Code = "TW421" // JobSet managed elsewhere
	CodeNoSuchPod        Code = "TW422" // endpoint without a Pod
	CodeNeverCreated     Code = "TW423" // never created
	CodeUnknownPriority  Code = "TW424" // unknown priority value
	CodeLeaderFirst      Code = "TW425" // Pods wait for their leader
	CodeTooManyJobs      Code = "TW426" // too many Jobs or Pods
	CodeRandomName       Code = "TW427" // random suffix
)

// Codes of the page docs/findings/controller.md.
const (
	CodeManagedByOther    Code = "TW430" // TrainJob managed elsewhere
	CodeNeverResumed      Code = "TW431" // TrainJob that cannot resume
	CodeSuspendReplaced   Code = "TW432" // suspend of the runtime replaced
	CodeCountReplaced     Code = "TW433" // parallelism or completions replaced
	CodeReplicasReplaced  Code = "TW434" // replicas become one
	CodePortLost          Code = "TW435" // port lost to the policy
	CodePortsTakenForOne  Code = "TW436" // two ports treated as one
	CodeReachesNothing    Code = "TW437" // field without effect
	CodeClaimsDropped     Code = "TW438" // resource claims dropped
	CodeFileKeyRef        Code = "TW439" // fileKeyRef lost
	CodeNothingInjected   Code = "TW440" // policy without effect
	CodeMasterAddress     Code = "TW441" // policy's address without a Pod
	CodeGPUsUnseen        Code = "TW442" // GPUs not counted
	CodeSecondTrainer     Code = "TW443" // second trainer job
	CodeMPINodes          Code = "TW444" // numNodes reaches another MPI job
	CodeMPIImplementation Code = "TW445" // unknown MPI implementation
	CodeHostfile          Code = "TW446" // hostfile empty or too large
	CodeFluxNodes         Code = "TW447" // flux without numNodes
	CodeFluxCommand       Code = "TW448" // flux runs another command
	CodeGangCount         Code = "TW449" // gang waits for other Pods
	CodeTwoGangs          Code = "TW450" // two gang schedulers
	CodeGangPriority      Code = "TW451" // several priority classes in a gang
	CodeLeftOut           Code = "TW452" // object left out
	CodePayload           Code = "TW453" // input of an object unreadable
	CodeNoUID             Code = "TW454" // owner reference without a uid
	CodeQueueMoves        Code = "TW455" // Kueue admits the JobSet
	CodeSuspendMoves      Code = "TW456" // JobSet suspended alone
	CodeNoController      Code = "TW457" // no controller for applied objects
	CodeSecretMoves       Code = "TW458" // Secret of the controller
	CodeNoSnapshot        Code = "TW459" // no snapshot of the runtime
	CodeExtended          Code = "TW460" // extended patches need another runtime
	CodeBaseMoved         Code = "TW461" // derived from another base
	CodeNotAdmitted       Code = "TW467" // flavors that Kueue cannot assign
	CodeNoPodSets         Code = "TW468" // no Workload in Kueue
	CodeQueueCounts       Code = "TW469" // Kueue counts other Pods
)

// Codes of the page docs/findings/admission.md.
const (
	CodeMissingField      Code = "TW500" // required field missing
	CodeBadValue          Code = "TW501" // invalid value
	CodeBrokenRule        Code = "TW502" // rule between fields broken
	CodeBadMetadata       Code = "TW503" // invalid metadata
	CodeRuntimeReplicas   Code = "TW510" // replicas of a labeled job
	CodeRuntimeContainer  Code = "TW511" // labeled job without its container
	CodeNoInitializer     Code = "TW512" // initializer without a place
	CodeReservedEnv       Code = "TW513" // reserved variable
	CodeTorchTune         Code = "TW514" // no torchtune recipe
	CodeNoLauncher        Code = "TW515" // MPI lacks launcher or node
	CodeFlux              Code = "TW516" // flux setting rejected
	CodeNoQueue           Code = "TW517" // empty queue
	CodeDeprecated        Code = "TW518" // deprecated runtime
	CodeRuntimeRejected   Code = "TW519" // runtime rejected
	CodeJobSetName        Code = "TW530" // JobSet name too long or invalid
	CodeJobSetNetwork     Code = "TW531" // invalid subdomain
	CodeJobSetDependsOn   Code = "TW532" // dependsOn of no earlier job
	CodeJobSetPolicy      Code = "TW533" // invalid success or failure policy
	CodeJobSetCoordinator Code = "TW534" // invalid coordinator
	CodeJobSetClaim       Code = "TW535" // invalid volume claim policy
	CodeJobSetManagedBy   Code = "TW536" // invalid managedBy
	CodeJobSetGate        Code = "TW537" // feature gate off
	CodeJobSetTooLarge    Code = "TW538" // more Pods than JobSet counts
	CodeAncestorMoved     Code = "TW540" // patch moves a section's label
	CodeIdlePatch         Code = "TW541" // patch without effect
	CodePrivilegedPatch   Code = "TW542" // patch gives power over the node
	CodeNoTrainerLabel    Code = "TW543" // no trainer label
	CodeRuntimeImage      Code = "TW544" // runtime container without an image
)

// Codes of the page docs/findings/pods.md.
const (
	CodeNoImage         Code = "TW600" // container without an image
	CodeBadName         Code = "TW601" // invalid name in a Pod
	CodeResources       Code = "TW602" // invalid resources
	CodeMount           Code = "TW603" // invalid mount
	CodeVolume          Code = "TW604" // invalid volume
	CodeEnv             Code = "TW605" // invalid variable
	CodeJobSpec         Code = "TW606" // invalid Job
	CodeRestartPolicy   Code = "TW607" // invalid restart policy
	CodeBadLabel        Code = "TW608" // invalid label of a Job or Pod
	CodeReservedLabel   Code = "TW609" // reserved label
	CodeScheduling      Code = "TW610" // invalid scheduling rule
	CodeProbe           Code = "TW611" // invalid probe or hook
	CodePort            Code = "TW612" // invalid port
	CodeSecurityContext Code = "TW613" // invalid security context
	CodeClaim           Code = "TW614" // invalid volume claim
	CodePodSpec         Code = "TW615" // invalid field of a Pod
	CodeNoPriorityClass Code = "TW616" // unknown PriorityClass
	CodeNoRuntimeClass  Code = "TW617" // unknown RuntimeClass
)

// Codes of the page docs/findings/updates.md.
const (
	CodeImmutable        Code = "TW700" // immutable field
	CodePatchedRunning   Code = "TW701" // patches changed while running
	CodeEndlessUpdate    Code = "TW702" // change that JobSet never accepts
	CodeUpdateIgnored    Code = "TW703" // change does not reach the job
	CodeUnknownOldObject Code = "TW704" // another object
	CodeMovedQueue       Code = "TW705" // queue changed while running
)

// Codes of the page docs/findings/rewriting.md.
const (
	CodeNotMigrated     Code = "TW800" // not rewritten
	CodeNotProved       Code = "TW801" // not proved
	CodeMigratesOther   Code = "TW802" // renders otherwise
	CodeSaidNothing     Code = "TW803" // override without a job
	CodeNotRepaired     Code = "TW810" // not repaired
	CodeGenerated       Code = "TW811" // repair in a generated file
	CodeSharedPatch     Code = "TW812" // repair in a shared patch
	CodeNotCarried      Code = "TW820" // not supported by the Trainer
	CodeOldInvalid      Code = "TW821" // invalid in the old API
	CodeMappedOtherwise Code = "TW822" // converted with another meaning
	CodeDroppedField    Code = "TW823" // field omitted
	CodeReaddressed     Code = "TW824" // address rewritten
	CodeEnvReplaced     Code = "TW825" // variable replaced
	CodeNeedsSSH        Code = "TW826" // images need SSH
	CodeRuntimeDecides  Code = "TW827" // runtime decides
	CodeRuntimeOnly     Code = "TW828" // needs its own runtime
)

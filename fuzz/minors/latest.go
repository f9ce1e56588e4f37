package minors

// latest sets fields that Kubernetes 1.37 adds, and objects that are written empty.
func (d *drawer) latest(spec Object) {
	c, ok := spec["containers"].([]any)[0].(Object)
	if !ok {
		return
	}
	protocol, user := d.of("HTTP1", "HTTP2", "", nil), d.of(0, 1, -1, 5000000000, nil)
	http := Object{"port": 80, "protocol": protocol}
	if d.one(3) {
		http[d.of("host", "scheme").(string)] = d.of("HTTPS", "HTTP", "a")
	}
	switch d.IntN(9) {
	case 0:
		c["lifecycle"] = d.of(Object{}, Object{"preStop": Object{}}, Object{"stopSignal": "SIGTERM",
			"preStop": Object{"sleep": Object{"seconds": 1}}}, Object{"stopSignal": "SIGTERM"},
			Object{"postStart": Object{"httpGet": http}}, Object{"preStop": Object{"httpGet": http}})
	case 1:
		name := d.of("securityContext", "resources", "livenessProbe", "startupProbe", "lifecycle",
			"env", "envFrom", "ports", "volumeMounts", "volumeDevices", "resizePolicy",
			"restartPolicyRules").(string)
		c[name] = d.empty(name[len(name)-1] == 's' && name != "resources" || name == "env" ||
			name == "envFrom")
	case 2:
		name := d.of("securityContext", "affinity", "dnsConfig", "os", "resources",
			"schedulingGroup", "workloadRef", "nodeSelector", "overhead").(string)
		spec[name] = Object{}
		if name == "affinity" {
			spec[name] = Object{d.of("nodeAffinity", "podAffinity", "podAntiAffinity").(string): Object{}}
		}
	case 3:
		spec[d.of("evictionResponders", "tolerations", "topologySpreadConstraints", "hostAliases",
			"readinessGates", "schedulingGates", "resourceClaims", "imagePullSecrets", "volumes",
			"initContainers").(string)] = d.empty(true)
	case 4:
		responder := func() any {
			return Object{"name": d.of("a.example.com/b", "x.k8s.io/b", "a.kubernetes.io/b", "b", ""),
				"priority": d.of(1000, 0, 100000, 100001, -1, nil)}
		}
		spec["evictionResponders"] = []any{responder(), responder()}
		if d.one(3) {
			spec["schedulingGroup"] = Object{"podGroupName": "a"}
		}
	case 5:
		item := Object{"key": "a", "path": "b", "user": user}
		field := Object{"path": "b", "user": user, "fieldRef": Object{"fieldPath": "metadata.name"}}
		source := d.of(Object{"configMap": Object{"name": "a", "items": []any{item}}},
			Object{"secret": Object{"name": "a", "items": []any{item}}},
			Object{"downwardAPI": Object{"items": []any{field}}},
			Object{"serviceAccountToken": Object{"path": "a", "user": user}},
			Object{"clusterTrustBundle": Object{"name": "a", "path": "b", "user": user}},
			Object{"podCertificate": Object{"signerName": "a.example.com/b", "keyType": "ED25519",
				"credentialBundlePath": "c", "user": user}})
		volume := d.of(Object{"configMap": Object{"name": "a", "items": []any{item}}},
			Object{"secret": Object{"secretName": "a", "items": []any{item}, "defaultUser": user}},
			Object{"downwardAPI": Object{"items": []any{field}, "defaultUser": user}},
			Object{"projected": Object{"sources": []any{source}, "defaultUser": user}},
			Object{"projected": Object{"sources": []any{source}}}).(Object)
		volume["name"] = "v"
		spec["volumes"] = []any{volume}
	case 6:
		spec["volumes"] = []any{Object{"name": "v", "emptyDir": Object{
			"mode": d.of(0, 511, 1023, 1024, -1, nil)}}}
		c["volumeMounts"] = []any{Object{"name": "v", "mountPath": "/a", "bindMountOptions": d.of(
			[]any{}, []any{"noexec", "nodev", "nosuid"}, []any{"noexec", "noexec"}, []any{"a"}, nil)}}
	case 7:
		c[d.of("livenessProbe", "readinessProbe", "startupProbe").(string)] = d.of(
			Object{"httpGet": http}, Object{"grpc": Object{"port": 80,
				"mode": d.of("Plaintext", "TLS", "a", "", nil)}})
	default:
		of := func() Object {
			return Object{d.of("cpu", "memory", "hugepages-2Mi").(string): d.of("1", "2Gi", "4Mi")}
		}
		spec["resources"] = Object{"requests": of(), "limits": of()}
		c["resources"] = Object{d.of("limits", "requests").(string): of()}
	}
}

// empty returns an empty object, or a list that is empty or has one.
func (d *drawer) empty(list bool) any {
	if list {
		return d.of([]any{}, []any{Object{}})
	}
	return Object{}
}

// scheduling returns spec.scheduling of a Job.
func (d *drawer) scheduling() Object {
	return d.of(Object{}, Object{"schedulingPolicy": Object{}},
		Object{"schedulingPolicy": Object{"basic": Object{}}},
		Object{"schedulingPolicy": Object{"gang": Object{"minCount": d.of(1, 2, 0)}}},
		Object{"schedulingPolicy": Object{"basic": Object{}, "gang": Object{"minCount": 1}}},
		Object{"disruptionMode": Object{}}, Object{"resourceClaims": []any{Object{"name": "a",
			"resourceClaimName": "b"}}}).(Object)
}

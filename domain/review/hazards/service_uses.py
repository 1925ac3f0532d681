"""Uses of the clients of services: clouds, clusters, queues, stores of keys and values, backups, registries.

Sources are the manuals of the clients as of 2024; what a row says is that of the service, not of this machine.
"""

from __future__ import annotations

from quorum.domain.review.hazards.invocation import HarmfulUse
from quorum.domain.review.plain_request import Effect, RequestTerms

_SHOWS = r"--help|-h|--version|help|version|list|ls|show|get|status|info|describe|--dry-?run(=.*)?|-n"
_DELETES = "deletes what a service keeps"
_BACKUPS = "deletes backups"
_CLUSTER = "deletes a cluster"
_PUBLISHES = "publishes a package"
_JOINS = "joins this machine to another network"
_AGENT = "starts an agent that asks nobody"

_DEPLOYS = "puts a version in place that others use"
_DEPLOYED = RequestTerms(effect=Effect.PUBLISH, nouns="deploy(?:ment)?|prod(?:uction)?|live")

CLOUD_USES: tuple[HarmfulUse, ...] = (
    HarmfulUse(
        "aws|gcloud|az|doctl|linode-cli|hcloud|openstack|neutron|scw|ibmcloud|oci|aliyun|tccli|yc|exo|civo|"
        "vultr-cli|upctl|fly|flyctl|atlas|supabase|turso|neonctl|pscale",
        r"(.*[=:,\s\[\"'])?(0\.0\.0\.0(/0)?|::/0|255\.255\.255\.255)([\"',\]\s].*)?|(--source-address-prefix(es)?=)?(\*|Internet)",
        "lets every machine in",
        r"list.*|show|describe.*|get.*|help|--help|delete.*|remove.*|revoke.*|rm",
    ),
    HarmfulUse("vercel|netlify", "--prod|--production|-p", _DEPLOYS, _SHOWS, request=_DEPLOYED),
    HarmfulUse(
        "firebase|fly|flyctl|wrangler|eb|kamal|sam|cdk|serverless|sls|amplify|railway|gcloud",
        "deploy|publish",
        _DEPLOYS,
        f"{_SHOWS}|diff|--guided",
        request=_DEPLOYED,
    ),
    HarmfulUse("cap production|prod", "deploy.*", _DEPLOYS, request=_DEPLOYED),
    HarmfulUse("surge|gh-pages", "", _DEPLOYS, _SHOWS, request=_DEPLOYED),
    HarmfulUse("docker stack", "deploy|up", _DEPLOYS, _SHOWS, request=_DEPLOYED),
    HarmfulUse("nomad job", "run", _DEPLOYS, _SHOWS, request=_DEPLOYED),
    HarmfulUse("argocd app", "sync", _DEPLOYS, _SHOWS, request=_DEPLOYED),
    HarmfulUse(
        "aws",
        (
            r"(stop|delete|disable|update|put)-(logging|trail|detector|flow-logs|log-group|"
            r"log-stream|alarms|configuration-recorder|event-selectors|metric-filter|alarm-actions|"
            r"web-acl|rule|bucket-logging|retention-policy|insight-rules)|put-event-selectors|"
            r"disassociate-.*|disable-.*|delete-.*|terminate-.*|modify-(instance|db|image|snapshot|"
            r"cluster)-attribute|deregister-.*|revoke-.*|release-.*|reset-.*|purge-.*|reboot-.*|"
            r"stop-.*"
        ),
        "switches a protection or a record of the cloud off",
        "--generate-cli-skeleton.*",
    ),
    HarmfulUse(
        "aws",
        (
            r"put-bucket-(acl|policy|website|cors|replication|lifecycle.*|ownership.*|encryption|"
            r"versioning)|put-public-access-block|delete-public-access-block|put-object-acl|"
            r"authorize-security-group-.*|modify-(snapshot|image)-attribute|add-permission|"
            r"set-repository-policy|put-resource-policy|public-read.*|--publicly-accessible|"
            r"create-access-point|share-.*|create-resource-share|modify-db-snapshot-attribute|"
            r"0\.0\.0\.0/0|update-function-(code|configuration)|put-role-policy|send-command|"
            r"start-session|create-login-profile|create-snapshot|copy-snapshot|get-secret-value|"
            r"get-password-data|run-instances|create-key-pair|import-key-pair|send-ssh-public-key|"
            r"put-rule|put-targets"
        ),
        "opens or changes what is kept in a cloud",
        "--generate-cli-skeleton.*",
    ),
    HarmfulUse(
        "gcloud",
        (
            r"delete|disable|remove-.*|reset.*|stop|undelete|clear-.*|add-metadata|allUsers|"
            r"allAuthenticatedUsers|--member=all.*|0\.0\.0\.0/0|--allow-unauthenticated|ssh|"
            r"create-key|add-labels|import|export|suspend|set-iam-policy|firewall-rules"
        ),
        "opens, changes or stops what is kept in a cloud",
        "list|describe",
    ),
    HarmfulUse(
        "az",
        (
            r"delete|purge|stop|deallocate|disable|remove|reset.*|revoke|run-command|invoke|"
            r"open-port|--public-access|add|update|set|grant-access|regenerate|renew|failover"
        ),
        "opens, changes or stops what is kept in a cloud",
        "list|show|--help",
    ),
    HarmfulUse(
        (
            "doctl|linode-cli|hcloud|flyctl|fly|heroku|vercel|netlify|railway|render|wrangler|"
            "firebase|supabase|scw|ibmcloud|oci|aliyun|tccli|exo|civo|vultr-cli"
        ),
        (
            r".*(delete|destroy|remove|reset|rm|scale=?0|suspend|unset|transfer|purge|terminate|"
            r"maintenance|access:add|members:add|collaborators|rollback|wipe|disable|nuke|env:rm|"
            r"db:push).*"
        ),
        "opens, changes or stops what is kept in a cloud",
        "list|show|get|--help|--dry-run",
    ),
    HarmfulUse(
        (
            "terraform|tofu|pulumi|cdk|cdktf|sam|serverless|sls|eksctl|kops|ansible-playbook|"
            "ansible|vagrant|packer|helmfile|argocd|flux|nomad|consul|vault|boundary|juju|"
            "openstack|virsh|VBoxManage|govc|qm|pct|proxmox"
        ),
        (
            r"destroy|undefine|force-unlock|taint|untaint|import|rm|state|delete|shutdown|poweroff|"
            r"-auto-approve|--auto-approve|unregistervm|seal|revoke|delete-cluster|remove|purge|"
            r"undeploy|uninstall|unseal|operator|managedsave"
        ),
        "changes infrastructure",
        r"--check|--dry-run|list|show|status|get|-n|-help",
    ),
    HarmfulUse(
        "kubectl|oc patch|edit|replace|annotate|label|taint|evict",
        "",
        "changes what runs in a cluster",
        "--dry-run.*|--list|--help",
    ),
    # What a rollout starts anew, or starts more of, runs on while that happens.
    HarmfulUse(
        "kubectl|oc scale",
        "",
        "changes what runs in a cluster",
        r"--dry-run.*|--help|(--replicas=)?[1-9]\d*",
    ),
    HarmfulUse(
        "kubectl|oc rollout", "undo|cancel|retry|latest", "changes what runs in a cluster", "--dry-run.*"
    ),
    HarmfulUse(
        "kubectl|oc",
        r"delete|drain|cordon|patch|replace|edit|annotate|label|set|evict|apply-set-last",
        "changes what runs in a cluster",
        (
            r"status|history|can-i|--dry-run.*|get|describe|view|current-context|set-context|use-context|"
            r"get-contexts|"
        ),
    ),
    HarmfulUse(
        "nomad|crictl|ctr|lxc|lxd|incus|machinectl|nerdctl",
        (
            r"del|delete|rmdir|deleteall|rmr|rm|rmi|rmp|stop|kill|remove|destroy|terminate|purge|"
            r"prune"
        ),
        "deletes or stops what runs in containers, or their data",
        r"--help|ls|list|info",
    ),
)

_RESTORED = RequestTerms(effect=Effect.OVERWRITE, nouns="databases?|db|dump|backup")
_RESTORES = "puts a backup in the place of what a database keeps"
_WIPES = "destroys data on a device"
_CERTIFICATES = "takes back certificates"

SERVICE_USES: tuple[HarmfulUse, ...] = (
    # ------------------------------------------------------------ servers and clients of databases
    # PostgreSQL 17, "Server Applications" and "Client Applications"; postgresql-common 267.
    HarmfulUse(
        "pg_resetwal|pg_resetxlog|pg_rewind|pg_archivecleanup|pg_dropcluster|pg_createsubscriber",
        "",
        "changes or deletes the files of a database",
        "-n|--dry-run|-V|--version|-\\?|--help",
    ),
    HarmfulUse("pg_ctl|pg_ctlcluster", "immediate|-mi.*|kill", "stops a database", "--help"),
    HarmfulUse(
        "createuser", r"-[a-zA-Z]*[sr][a-zA-Z]*|--superuser|--createrole|--replication", "gives somebody rights"
    ),
    HarmfulUse(
        "mysqladmin|mariadb-admin", "shutdown|password|flush-privileges|kill", "stops or opens a database"
    ),
    HarmfulUse(
        "myisamchk|aria_chk|innochecksum",
        r"-[rof]+|--(safe-)?recover|--force|--write.*",
        "changes the files of a database",
    ),
    HarmfulUse("pg_restore", "-[a-z]*c|--clean", _RESTORES, "--help|--list|-l", request=_RESTORED),
    HarmfulUse("mongorestore", "--drop", _RESTORES, "--dryRun|--help", request=_RESTORED),
    HarmfulUse("arangorestore", "--overwrite(=true)?", _RESTORES, request=_RESTORED),
    HarmfulUse("rethinkdb restore", "--force", _RESTORES, request=_RESTORED),
    HarmfulUse("nodetool", "clearsnapshot|decommission|removenode|assassinate|truncatehints", _DELETES),
    HarmfulUse("curator_cli|curator", "delete_(indices|snapshots)|close", _DELETES, "--dry-run"),
    # ------------------------------------------------------------ devices
    # The names of mkfs(8) for single kinds; sg3-utils 1.48, tpm2-tools 5.7, ipmitool 1.8, esptool 5, avrdude 8.
    HarmfulUse(
        "mke2fs|mkntfs|mkdosfs|mkexfatfs|mkudffs|newfs|newfs_\\w+", "", _WIPES, "-n|--dry-run|-V|--help"
    ),
    HarmfulUse(
        "sg_format|sg_sanitize|sg_unmap|sg_write_same|sg_reset", "", _WIPES, "-h|--help|-V|--version|--dry-run"
    ),
    HarmfulUse(
        "esptool|esptool.py|st-flash|nrfjprog|dfu-util", r"erase([_-]\w+)?|--erase\w*|--recover", _WIPES
    ),
    HarmfulUse("avrdude", r"-e|-U.*:w:.*", _WIPES, "-n"),
    HarmfulUse("flashrom", "-E|-w|--erase|--write", _WIPES),
    HarmfulUse("fastboot", "flashall|flash|erase|format|oem|flashing|-w", _WIPES),
    HarmfulUse("asr", "--erase", _WIPES),
    HarmfulUse("tpm2_clear|tpm2_changeauth|tpm2_evictcontrol", "", "deletes keys of the machine", "-h|--help"),
    HarmfulUse("ykman", "reset", "deletes keys of the machine", "-h|--help"),
    HarmfulUse("adb", "wipe|sideload|disable-verity", "changes a device", "--help"),
    HarmfulUse(
        "ipmitool|ipmi-chassis-control|racadm|ipmiutil",
        "off|cycle|reset|soft|racreset|racresetcfg|powerdown|hardreset|powercycle|serveraction",
        "stops a machine",
        "status|list",
    ),
    HarmfulUse("rtcwake", "", "stops the machine", "-n|--dry-run|--list-modes|--show|--help"),
    HarmfulUse("loginctl", r"(terminate|kill)-(user|session|seat)|lock-sessions", "ends what others run"),
    # ------------------------------------------------------------ peers, stores of large files, histories
    HarmfulUse("ipfs", "gc|rm", _DELETES, "--help"),
    HarmfulUse("nomad system gc|reconcile", "", _DELETES, "--help|-help"),
    HarmfulUse("nomad node", "drain|purge", "takes a machine out of a cluster", "--help|-help|-disable"),
    HarmfulUse("consul", "leave|force-leave", "takes a machine out of a cluster", "--help|-help"),
    HarmfulUse("rbd|rados|cephfs-shell", "rm|remove|purge", _DELETES, "--help"),
    HarmfulUse(
        "s3cmd|b2|s5cmd|s4cmd|ossutil|cos|coscmd|obsutil",
        "del|rm|rb|delete|delete-.*|expire",
        _DELETES,
        "--dry-?run|-n|--help",
    ),
    HarmfulUse("swift", "delete", _DELETES, "--help"),
    HarmfulUse("dvc|mlflow|datalad|wandb", "gc|destroy|drop|remove", _DELETES, "--dry|--dry-run|--help"),
    HarmfulUse("git annex", "drop|dropunused|uninit|dead", _DELETES, "--help"),
    HarmfulUse("hg", "rollback", "throws changes away", "--dry-run|-n"),
    HarmfulUse("dolt reset", "--hard", "throws changes away"),
    HarmfulUse("fossil", "purge|scrub|shun", "throws changes away", "list|cat"),
    HarmfulUse("darcs", "obliterate|revert|unpull|unrecord", "throws changes away", "--dry-run"),
    # ------------------------------------------------------------ queues of mail, printers and jobs
    HarmfulUse("postsuper", "-d.*|-r.*|-h.*", "deletes mail that waits"),
    HarmfulUse("exim|exim4|sendmail", r"-Mrm|-Mg|-Mf|-qG", "deletes mail that waits"),
    HarmfulUse("atrm", "", "deletes scheduled jobs", "-V"),
    HarmfulUse("cancel|lprm", "-a|-u|-|--", "deletes jobs of a printer"),
    # ------------------------------------------------------------ directories and certificates
    HarmfulUse(
        "nsupdate|ipa-server-install|ipa-client-install",
        "",
        "changes names or accounts of a network",
        "--help|-V",
    ),
    HarmfulUse(
        "ipa", r"[a-z]+-(del|disable|remove-\w+|mod|add-\w+)|passwd", "changes names or accounts of a network"
    ),
    HarmfulUse("certbot", "revoke|delete|unregister", _CERTIFICATES, "--dry-run"),
    HarmfulUse("acme.sh", "--revoke|--remove|--deactivate.*", _CERTIFICATES),
    HarmfulUse("step|puppetserver|puppet|cfssl", "revoke|clean|purge", _CERTIFICATES, "--help"),
    # ------------------------------------------------------------ systems as a whole
    HarmfulUse("ostree", "undeploy|prune|reset", "removes ways back of the system"),
    HarmfulUse("rpm-ostree", "reset|cleanup|rollback|rebase", "removes ways back of the system"),
    HarmfulUse("nix-collect-garbage", "-d|--delete-old.*", "removes ways back of the system", "--dry-run"),
    HarmfulUse("guix", "delete-generations|--delete-generations.*", "removes ways back of the system"),
    HarmfulUse("snap", "--purge", "deletes the data of a program"),
    HarmfulUse(
        "npm|pnpm|yarn set-script",
        r"(pre|post)?(install|prepare|publish|pack)\w*",
        "lets something run on its own",
        guard="persistence",
    ),
    HarmfulUse("rustup", "self", "removes programs of the person", "(?!uninstall$)(?!self$)(?!-).*"),
    HarmfulUse(
        "ansible",
        r".*\bstate=absent.*",
        "changes other machines",
        "--check|-C|--list-hosts",
    ),
    HarmfulUse("buildah|podman", "rm|rmi|prune", "deletes containers or images", "--help|image|builder"),
    # ------------------------------------------------------------ accounts of applications
    HarmfulUse(
        "wp",
        r"--role=administrator|set-role|delete|reset",
        "gives rights, or deletes, in an application",
        "--dry-run",
    ),
    HarmfulUse("grafana-cli|grafana", "reset-admin-password", "gives somebody rights"),
    HarmfulUse("cargo owner", "-a|--add|-r|--remove", "gives somebody rights", "--list|-l"),
    HarmfulUse(
        "magento|bin/magento",
        r"setup:(uninstall|rollback|db:.*)|admin:user:\w+",
        "deletes data of an application",
    ),
    # ------------------------------------------------------------ pictures of the screen
    HarmfulUse(
        "magick|gm import", "", "captures what somebody types, shows or says", "-help|-version", guard="secret"
    ),
    # ------------------------------------------------------------ queues and stores
    HarmfulUse(
        "kafka-topics|kafka-topics.sh|kafka-consumer-groups|kafka-consumer-groups.sh|kafka-configs|kafka-acls",
        "--delete|--delete-config|--remove|--reset-offsets|--delete-offsets",
        _DELETES,
        "--dry-run",
    ),
    HarmfulUse("kafka-delete-records|kafka-delete-records.sh", "", _DELETES, "--help"),
    HarmfulUse(
        "rpk|kafkactl|nats|pulsar-admin|rabbitmqadmin|zkCli.sh|aerospike|nsqadmin",
        "delete|del|rm|rmr|deleteall|purge|trim-prefix|terminate|skip-all",
        _DELETES,
        "--help|--dry-run",
    ),
    HarmfulUse(
        "rabbitmqctl",
        r"(force_)?reset|delete_.*|purge_queue|clear_.*|stop(_app)?|forget_cluster_node",
        _DELETES,
    ),
    HarmfulUse(
        "rabbitmqctl", "add_user|change_password|set_permissions|set_user_tags", "gives somebody rights"
    ),
    HarmfulUse("etcdctl", "del|compact|defrag|rm|rmdir", _DELETES, "--help"),
    HarmfulUse("consul kv", "delete", _DELETES),
    HarmfulUse(
        "vault",
        "delete|destroy|disable|revoke|seal|rekey|rotate",
        "deletes secrets, or switches their store off",
    ),
    HarmfulUse("influx", "delete", _DELETES, "--help"),
    HarmfulUse("redis-cli|valkey-cli|keydb-cli", "requirepass|masterauth", "reads credentials", guard="secret"),
    HarmfulUse(
        "redis-cli|valkey-cli|keydb-cli",
        "(?i)slaveof|replicaof|shutdown|module|dbfilename|protected-mode",
        "has the database load, write or become something else",
        "(?i)get",
    ),
    # ------------------------------------------------------------ backups
    HarmfulUse("restic", "forget|prune|rewrite", _BACKUPS, "--dry-run|-n|--help"),
    HarmfulUse("borg|borgmatic", "delete|prune|recreate|compact", _BACKUPS, "--dry-run|-n|--help|-h"),
    HarmfulUse("kopia|velero|bup|duplicacy|proxmox-backup-client", "delete|rm|prune|forget|expire", _BACKUPS),
    HarmfulUse("duplicity|rdiff-backup", r"remove-.*|--remove-.*|cleanup", _BACKUPS, "--dry-run"),
    HarmfulUse("tarsnap", "-d|--nuke", _BACKUPS, "--dry-run"),
    HarmfulUse("timeshift|snapper", r"--delete(-all)?|delete|rm|remove", _BACKUPS),
    HarmfulUse(
        "barman|pgbackrest|wal-g|wal-e", "delete|stanza-delete|expire|everything", _BACKUPS, "--dry-run"
    ),
    # ------------------------------------------------------------ clusters and machines for development
    HarmfulUse("kind|minikube|k3d|microk8s|ctlptl", "delete|reset", _CLUSTER, "--help|-h"),
    HarmfulUse("kubeadm|talosctl|rke|rke2", "reset|remove", _CLUSTER, "--help|-h|--dry-run"),
    HarmfulUse("k3s-uninstall.sh|k3s-agent-uninstall.sh|rke2-uninstall.sh", "", _CLUSTER),
    HarmfulUse(
        "multipass|colima|limactl|orb|podman-machine|tart|lima",
        "delete|purge|rm",
        "deletes a machine",
        "--help",
    ),
    HarmfulUse("podman system|machine", "reset", "deletes containers, images and volumes", "--help"),
    HarmfulUse("docker swarm", "leave", "takes this machine out of a cluster", "--help"),
    # ------------------------------------------------------------ registries of packages
    HarmfulUse("gem", "push|owner", _PUBLISHES, "--help"),
    HarmfulUse("mvn|mvnw|mvnd", r"deploy|deploy:.*|release:perform|.*:deploy(-file)?", _PUBLISHES, "--help"),
    HarmfulUse(
        "gradle|gradlew|sbt|lein|mill",
        r"(:?[\w:-]*:)?(publish(?!.*Local$|.*M2$)\w*|uploadArchives|closeAndRelease\w*)|deploy",
        _PUBLISHES,
        "--dry-run|-m|--help",
    ),
    HarmfulUse("mix", r"hex\.(publish|retire|owner)", _PUBLISHES, "--dry-run"),
    HarmfulUse("dart|flutter pub", "publish|lish", _PUBLISHES, "--dry-run|-n"),
    HarmfulUse("pod", "push", _PUBLISHES),
    HarmfulUse("luarocks|anaconda|conan|cabal|stack|conda", "upload", _PUBLISHES, "--help"),
    HarmfulUse("opam|nimble|pub|mops|jpm", "publish", _PUBLISHES, "--dry-run"),
    HarmfulUse("nuget|dotnet nuget", "push|delete", _PUBLISHES, "--help"),
    HarmfulUse("nuget", "push|delete", _PUBLISHES, "--help"),
    HarmfulUse("helm", "push|cm-push", "sends a chart to another machine", "--help", guard="network"),
    HarmfulUse("goreleaser", "release", _PUBLISHES, r"--snapshot|--skip(-publish|=.*publish.*)|--help"),
    HarmfulUse("npm|pnpm|yarn", "dist-tag|deprecate", "changes a published package", "ls|list|--dry-run"),
    HarmfulUse(
        "npm|pnpm|yarn owner|access|team|token|hook", "add|grant|set|create|public", "gives somebody rights"
    ),
    HarmfulUse(
        "terraform|tofu",
        r"-from-module=.*",
        "takes code from elsewhere",
        guard="network",
    ),
    HarmfulUse(
        "npm|pnpm|yarn config set",
        r"(prefix|git|shell|script-shell|globalconfig|userconfig)(=.*)?",
        "has programs found, or started, elsewhere",
        r"(prefix=)?[\"']?(~|\$HOME|\$\{HOME\}|/home/[^/]+|/Users/[^/]+)/\..*",
        guard="persistence",
    ),
    HarmfulUse(
        "go mod edit",
        r"(-replace=)?(?!-)[^\s=]+=(?!github\.com|gitlab\.com|golang\.org)[\w-]+(\.[\w-]+)+/\S*",
        "takes packages from elsewhere",
        guard="network",
    ),
    HarmfulUse(
        "hg|bzr|darcs|fossil push", r"\w+://.*", "sends the repository to another machine", guard="network"
    ),
    HarmfulUse("bq", "extract|rm", "sends away or deletes what is kept in a cloud", "--help"),
    HarmfulUse("bq add-iam-policy-binding|set-iam-policy", "", "gives somebody rights", "--help"),
    HarmfulUse("hash", r"-[lrtd]*p", "has another program run by a known name", guard="persistence"),
    # ------------------------------------------------------------ networks, agents
    HarmfulUse(
        "tailscale|netbird|zerotier-cli|zerotier-one|twingate|netclient|innernet|headscale|husarnet|openziti",
        "up|ssh|join|--ssh|connect|setup|--advertise-.*|--accept-routes|start|enroll|orbit|set|fetch|install",
        _JOINS,
        "status|--help|down|ip|ping|version|--ssh=false",
        guard="network",
    ),
    HarmfulUse("openconnect|vpnc|openfortivpn", "", _JOINS, "--help|--version", guard="network"),
    HarmfulUse(
        "nordvpn|mullvad|openvpn3|protonvpn|expressvpn|globalprotect",
        "c|connect|session-start",
        _JOINS,
        guard="network",
    ),
    HarmfulUse(
        (
            "claude|codex|gemini|aider|cursor-agent|goose|opencode|amp|crush|qwen|copilot|auggie|droid|kimi|cline|"
            "quorum"
        ),
        r"--(dangerously|allow-dangerously|yolo|yes-always|full-auto|allow-all|trust-all|auto-approve).*|bypassPermissions"
        r"|--(permission-mode|approval-mode|ask-for-approval|sandbox|mode)=(bypassPermissions|yolo|never|danger.*|auto)"
        r"|danger-full-access",
        _AGENT,
        "--help|--version",
    ),
)

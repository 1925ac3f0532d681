"""Uses of programs that change what is kept, or runs, in a cloud, a cluster or containers."""

from __future__ import annotations

from quorum.domain.review.hazards.harmful_use import HarmfulUse

CLOUD_USES: tuple[HarmfulUse, ...] = (
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
        r"--check|--dry-run|list|show|status|get|-n",
    ),
    HarmfulUse(
        "kubectl|oc",
        r"delete|scale|drain|cordon|rollout|patch|replace|edit|annotate|label|set|evict|apply-set-last",
        "changes what runs in a cluster",
        (
            r"status|history|--dry-run.*|get|describe|view|current-context|set-context|use-context|"
            r"get-contexts|"
        ),
    ),
    HarmfulUse(
        "etcdctl|consul kv|zkCli.sh|nomad|crictl|ctr|lxc|lxd|incus|machinectl",
        (
            r"del|delete|rmdir|deleteall|rmr|rm|rmi|rmp|stop|kill|remove|destroy|terminate|purge|"
            r"prune|compact|defrag|snapshot"
        ),
        "deletes or stops what runs in containers, or their data",
        r"--help|ls|list|info",
    ),
)

"""Rows of the table of programs: those that reach other machines. Sources are as in `programs`."""

from __future__ import annotations

from quorum.domain.review.effects.program_effects import Input, Operand, ProgramEffects
from quorum.domain.review.effects.side_effect import DataKind

_O, _I, _D = Operand, Input, DataKind

NETWORK_PROGRAMS: tuple[ProgramEffects, ...] = (
    ProgramEffects(
        names="curl curlie",
        source="curl(1) 7.88",
        values=(
            "-m -x -w -y -Y -z -C -K -E --cert --key --cacert --capath --max-time --proxy --preproxy "
            "--write-out --retry --connect-timeout --limit-rate --resolve "
            "--interface --dns-servers --retry-delay --max-redirs --connect-to --output-dir "
            "--ciphers --socks4 --socks4a --socks5 --socks5-hostname --config -P "
            "--retry-max-time --noproxy --unix-socket --hostpubmd5"
        ),
        writes="-o --output -D --dump-header -c --cookie-jar --etag-save --trace --trace-ascii --stderr",
        sends="-T --upload-file",
        posts=(
            "-d --data --data-binary --data-raw --data-ascii --data-urlencode --json -F --form --variable "
            "--form-string -H --header -b --cookie --url-query -u --user -Q --quote -A --user-agent "
            "-e --referer -X --request --request-target -r --range --oauth2-bearer -U --proxy-user "
            "--proxy-header --mail-from --mail-rcpt"
        ),
        hosts="--url",
        operands=_O.HOST,
        gives=_D.FETCHED,
        is_quiet=True,
    ),
    ProgramEffects(
        names="wget wget2",
        source="wget(1) 1.21",
        values=(
            "-t -T -w -P --directory-prefix -l -A -R -D -X -I -Q --tries --timeout --limit-rate -e "
            "--ca-certificate --config"
        ),
        writes="-O --output-document -o --output-file -a --append-output",
        sends="--post-file --body-file",
        posts="--post-data --body-data --header -U --user-agent --referer --method --user --password",
        shows="-i --input-file",
        operands=_O.HOST,
        gives=_D.FETCHED,
        is_quiet=True,
    ),
    ProgramEffects(
        names="http https xh xhs httpie",
        source="httpie 3.2 docs",
        values="--timeout --session -A",
        writes="-o --output",
        posts="-a --auth",
        operands=_O.HOST,
        gives=_D.FETCHED,
        input=_I.SEND,
    ),
    ProgramEffects(
        names=(
            "fetch aria2c axel lwp-request lynx links elinks GET HEAD youtube-dl yt-dlp "
            "lwp-download snarf ftpget irm iwr Invoke-WebRequest Invoke-RestMethod"
        ),
        source="aria2c(1) 1.36, lynx(1) 2.9",
        values="-d --dir -x -s",
        writes="-o --out -O",
        posts="--header -U --user-agent --referer --http-user --http-passwd",
        operands=_O.HOST,
        gives=_D.FETCHED,
        is_quiet=True,
    ),
    ProgramEffects(
        names="POST lwp-post PUT", source="lwp-request(1p)", operands=_O.HOST, gives=_D.FETCHED, input=_I.SEND
    ),
    ProgramEffects(
        names="nc ncat netcat nc.traditional nc.openbsd telnet ssl_client cryptcat pwncat rlogin rsh",
        source="nc(1), ncat(1) 7.93",
        values="-w -q -p -s -i -x -X -T -e -c --ssl-cert --ssl-key -g -G -o",
        operands=_O.HOST,
        gives=_D.FETCHED,
        input=_I.SEND,
    ),
    ProgramEffects(names="socat", source="socat(1) 1.7", operands=_O.HOST, gives=_D.FETCHED, input=_I.SEND),
    ProgramEffects(
        names="ssh sshpass mosh dbclient plink autossh",
        source="ssh(1) 9.2",
        values="-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -pw",
        operands=_O.HOST,
        gives=_D.FETCHED,
        input=_I.SEND,
    ),
    ProgramEffects(
        names="scp rsync rcp pscp bbcp unison lsyncd",
        source="scp(1) 9.2, rsync(1) 3.2",
        values=(
            "-P -i -F -l -o -c -S -J -e --rsh --exclude --include --filter -f --bwlimit "
            "--password-file -b -B -D -s"
        ),
        shows="--files-from",
        operands=_O.TRANSFER,
        is_quiet=True,
    ),
    ProgramEffects(
        names="ftp lftp sftp ncftpput tnftp tftp atftp",
        source="lftp(1) 4.9, sftp(1) 9.2",
        values="-u -p -e -c -P -i -o -F",
        operands=_O.HOST,
        gives=_D.FETCHED,
        input=_I.SEND,
    ),
    ProgramEffects(
        names="smbclient",
        source="smbclient(1) 4.17",
        values="-U -c -W -p -I",
        operands=_O.HOST,
        gives=_D.FETCHED,
        input=_I.SEND,
    ),
    ProgramEffects(
        names="mail mailx mutt neomutt sendmail ssmtp msmtp mpack s-nail nail exim exim4 "
        "postfix telegram-send slackcat slack ntfy notify pastebinit gist wgetpaste termbin "
        "sprunge ix "
        "pushbullet irc ii sic mosquitto_pub amqp-publish kcat kafkacat kafka-console-producer ",
        source="mail(1), mutt(1) 2.2, mosquitto_pub(1)",
        values="-s -r -c -b -S --server --header --subject -t -p -q -u -P",
        sends="-a -A --attach --attachment -f --file --body",
        posts="-m --message --data",
        hosts="-h --host",
        operands=_O.HOST,
        input=_I.SEND,
        is_quiet=True,
    ),
    ProgramEffects(
        names="swaks",
        source="swaks(1) 20201014",
        values="-t --to -f --from -au --auth-user -ap --auth-password -p --port --header -ha --helo",
        sends="--attach",
        posts="--attach --body --attach-body -d --data",
        hosts="-s --server",
        operands=_O.HOST,
        is_quiet=True,
    ),
    ProgramEffects(
        names=(
            "dig nslookup host drill kdig delv resolvectl whois ping ping6 traceroute mtr hping3 "
            "fping nping dnscat iodine"
        ),
        source="dig(1) 9.18, ping(8)",
        values="-c -i -t -W -w -s -b -k",
        posts="-p -q -d --sign",
        hosts="-h",
        operands=_O.HOST,
        gives=_D.FETCHED,
        is_quiet=True,
    ),
    ProgramEffects(
        names="logger",
        source="logger(1) 2.38",
        values="-p -t -P",
        shows="-f --file",
        hosts="-n --server",
        operands=_O.TEXT,
        input=_I.SEND,
    ),
    ProgramEffects(
        names="croc wormhole magic-wormhole ffsend portal onionshare",
        source="croc 9, ffsend 0.2 docs",
        words="send|upload",
        operands=_O.SEND,
        input=_I.SEND,
    ),
    ProgramEffects(
        names="onionshare onionshare-cli megaput dropbox_uploader.sh bluetooth-sendto kdeconnect-cli",
        source="megatools 1.11",
        values="--share -d --device",
        operands=_O.SEND,
    ),
    ProgramEffects(names="ipfs", words="add", source="ipfs 0.18", operands=_O.SEND, input=_I.SEND),
    ProgramEffects(names="gdrive", words="upload|files upload", source="gdrive 3", operands=_O.SEND),
    ProgramEffects(
        names="gh",
        words="secret set|variable set",
        source="gh 2.23",
        values="-R --repo -o --org -e --env -v --visibility -a --app",
        sends="-f --env-file",
        posts="-b --body",
        operands=_O.SEND,
    ),
    ProgramEffects(
        names="gh",
        words="gist create",
        source="gh 2.23",
        values="-d --desc -f --filename",
        operands=_O.SEND,
        input=_I.SEND,
    ),
    ProgramEffects(
        names="gh",
        words="api",
        source="gh 2.23",
        values="-X --method -q --jq -H",
        sends="--input",
        posts="-f -F --raw-field --field",
        hosts="--hostname",
        operands=_O.TEXT,
        gives=_D.FILE,
    ),
    ProgramEffects(
        names="gh",
        words="issue",
        source="gh 2.23",
        values="-t --title -l -a -R --repo",
        sends="-F --body-file",
        posts="-b --body",
        operands=_O.TEXT,
    ),
    ProgramEffects(
        names="gh",
        words="pr",
        source="gh 2.23",
        values="-t --title -l -a -R --repo -B -H",
        notes="-F --body-file",
        posts="-b --body",
        operands=_O.TEXT,
    ),
    ProgramEffects(
        names="gh",
        words="release create|release edit",
        source="gh 2.23",
        values="-t --title -n -R --repo --target --discussion-category",
        notes="-F --notes-file",
        posts="--notes",
        operands=_O.TEXT,
    ),
    ProgramEffects(
        names="glab",
        words="snippet create",
        source="glab 1.22",
        values="-t -d",
        operands=_O.SEND,
        input=_I.SEND,
    ),
    ProgramEffects(
        names="aws gsutil gcloud s3cmd mc rclone b2 s5cmd azcopy kubectl oc swift ossutil",
        words=(
            "s3 cp|s3 mv|s3 sync|cp|mv|rsync|sync|storage cp|storage rsync|storage mv|compute scp|"
            "put|mirror|copy|copyto|move|moveto|upload-file|upload|-m cp|-m rsync"
        ),
        source="aws-cli 2, gsutil 5, gcloud 420, s3cmd 2.3, rclone 1.60, azcopy 10, kubectl 1.26",
        values=(
            "--profile --region --endpoint-url --acl --exclude --include --project -n "
            "--account-name -c --container-name --sse"
        ),
        operands=_O.TRANSFER,
        is_quiet=True,
    ),
    ProgramEffects(names="rclone", words="rcat", source="rclone 1.60", operands=_O.HOST, input=_I.SEND),
    ProgramEffects(
        names="aws",
        words="s3api put-object",
        source="aws-cli 2",
        values="--bucket --key --acl --profile",
        sends="--body",
    ),
    ProgramEffects(
        names="aws",
        source="aws-cli 2",
        values="--profile --region --output --query",
        posts="--message --message-body --payload --value --secret-string --data --item --content",
        operands=_O.TEXT,
        gives=_D.MACHINE,
    ),
    ProgramEffects(
        names="az",
        words="storage blob upload",
        source="az 2.45",
        values="--account-name -c --container-name -n --name --account-key",
        sends="-f --file",
    ),
    ProgramEffects(
        names="az",
        words="storage blob upload-batch",
        source="az 2.45",
        values="--account-name -d --destination",
        sends="-s --source",
    ),
    ProgramEffects(
        names="az",
        words="storage file upload",
        source="az 2.45",
        values="--account-name --share-name",
        sends="--source",
    ),
    ProgramEffects(
        names="docker podman",
        words="save|export|image save|container export|cp",
        source="docker(1) 20.10",
        writes="-o --output",
        gives=_D.FILE,
    ),
    ProgramEffects(names="docker podman", words="push", source="docker(1) 20.10", operands=_O.USE),
    ProgramEffects(
        names="redis-cli psql mysql mariadb mongosh mongo influx clickhouse-client",
        source="redis-cli 7.0, psql(1) 15",
        values="-p -U -d -u -c -e",
        shows="-f --file",
        hosts="-h --host",
        operands=_O.TEXT,
        gives=_D.FILE,
        input=_I.FOLLOW,
    ),
    ProgramEffects(
        names="sqlite3 sqlite duckdb",
        source="sqlite3(1) 3.40, duckdb 0.9",
        values="-c -cmd",
        operands=_O.SHOW,
        gives=_D.FILE,
        input=_I.FOLLOW,
    ),
    ProgramEffects(
        names="pg_dump pg_dumpall mysqldump mongodump mongoexport",
        source="pg_dump(1) 15",
        values="-U -p -d -t",
        writes="-f --file -o --out --archive",
        operands=_O.SHOW,
        gives=_D.FILE,
    ),
)

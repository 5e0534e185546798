# The first process of a machine with a systemd: nspawn boots it on cgroup v2.
mount --make-rprivate /
mount -t proc proc /proc
R=$DIR/root
mount -t overlay machine -o "lowerdir=$TREE,upperdir=$DIR/upper,workdir=$DIR/work" "$R"
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p "/sys/fs/cgroup/$NAME"
echo 0 >"/sys/fs/cgroup/$NAME/cgroup.procs"
systemd-nspawn -q --system-call-filter="@keyring bpf @mount" -D "$R" --register=no --keep-unit -b --capability=all \
	--private-network --bind="$SHARED" </dev/null >"$DIR/console" 2>&1 &
box=$!
# Its only child is the box's first process.
for _ in $(seq 300); do
	leader=$(cat "/proc/$box/task/$box/children" 2>/dev/null || true)
	if [ -n "$leader" ] && [ -e "/proc/${leader% }/root/run/systemd/private" ]; then
		echo "ready $leader"
		cat >/dev/null
		exit
	fi
	sleep 0.1
done
cat "$DIR/console" >&2
exit 1

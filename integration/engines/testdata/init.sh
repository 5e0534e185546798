# The first process of a machine: it makes the file systems, changes root and
# waits until its standard input ends. A shell, since it reaps whatever is left
# to it.
mount --make-rprivate /
R=$DIR/root
mount -t overlay machine -o "lowerdir=$TREE,upperdir=$DIR/upper,workdir=$DIR/work" "$R"
mount -t proc proc "$R/proc"
mount --rbind /sys "$R/sys"
mount -t tmpfs -o mode=755 dev "$R/dev"
for node in null zero full random urandom tty fuse; do
	if [ -e "/dev/$node" ]; then cp -a "/dev/$node" "$R/dev/$node"; fi
done
mkdir "$R/dev/pts" "$R/dev/shm" "$R/dev/mqueue"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$R/dev/pts"
mount -t tmpfs -o mode=1777 shm "$R/dev/shm"
mount -t mqueue mqueue "$R/dev/mqueue"
ln -s pts/ptmx "$R/dev/ptmx"
ln -s /proc/self/fd "$R/dev/fd"
ln -s /proc/self/fd/0 "$R/dev/stdin"
ln -s /proc/self/fd/1 "$R/dev/stdout"
ln -s /proc/self/fd/2 "$R/dev/stderr"
mount -t tmpfs -o mode=755 run "$R/run"
mount -t tmpfs -o mode=1777 tmp "$R/tmp"
mkdir -p "$R$SHARED"
mount --rbind "$SHARED" "$R$SHARED"
case $CGROUPS in
v1) if grep -q ' /sys/fs/cgroup/unified ' /proc/self/mountinfo; then umount "$R/sys/fs/cgroup/unified"; fi ;;
v2)
	umount -R "$R/sys/fs/cgroup"
	mount -t cgroup2 none "$R/sys/fs/cgroup"
	;;
esac
mkdir "$R/old"
cd "$R"
pivot_root . old
umount -l /old
rmdir /old
cd /
echo ready
# An empty command keeps the shell from handing itself over.
cat >/dev/null
:

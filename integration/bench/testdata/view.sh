# The first process of a private view of the machine: Docker's daemon runs in
# it, with an /etc, a /run and a data root of its own, until standard input ends.
mount --make-rprivate /
mount -t proc proc /proc
mount -t overlay etc -o "lowerdir=/etc,upperdir=$DIR/etc,workdir=$DIR/work" /etc
mount -t tmpfs -o mode=755 run /run
mkdir -p /etc/cdi /etc/gpu-hook /etc/docker
mount -t tmpfs -o mode=755 cdi /etc/cdi
if [ -n "$PEER_CDI" ]; then cp "$DIR/$PEER_CDI" "/etc/cdi/$PEER_CDI"; fi
cp "$DIR/config.toml" /etc/gpu-hook/config.toml
PATH=$DIR/bin:$PATH dockerd --config-file "$DIR/daemon.json" >"$DIR/dockerd.log" 2>&1 &
daemon=$!
cat >/dev/null
kill "$daemon" || :
wait "$daemon" || :
# What killed containers left in the machine's hierarchies.
find /sys/fs/cgroup -maxdepth 2 -type d -name "$NAME" | while read -r top; do
	find "$top" -depth -type d -exec rmdir {} \; || :
done

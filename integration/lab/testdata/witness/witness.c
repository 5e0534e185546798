/*
 * The witness runs inside a container and says what it finds there, one JSON
 * object per argument and line. It asks the container's own loader, so it is
 * linked dynamically; with -DSTATIC it can run where there is no loader.
 *
 *   open:PATH               open for reading and writing
 *   node:PATH:MAJOR:MINOR   make a character device and open it
 *   write:PATH              open for writing, making the file
 *   stat:PATH               type, mode, owner and device number
 *   load:NAME               dlopen, and the path that the loader took
 *   driver:NAME             cuDriverGetVersion from a libcuda
 *   runtime:NAME            cudaGetDeviceCount from a libcudart
 *   nvml:NAME               nvmlInit_v2 from a libnvidia-ml
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#ifndef STATIC
#include <dlfcn.h>
#include <link.h>
#endif

static void text(const char *key, const char *value)
{
	printf(", \"%s\": \"", key);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			putchar('\\');
		putchar((unsigned char)*value < ' ' ? ' ' : *value);
	}
	putchar('"');
}

static void number(const char *key, long value)
{
	printf(", \"%s\": %ld", key, value);
}

static void try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0644);
	number("errno", fd < 0 ? errno : 0);
	if (fd >= 0)
		close(fd);
}

static void try_stat(const char *path)
{
	struct stat st;
	if (lstat(path, &st) < 0) {
		number("errno", errno);
		return;
	}
	number("errno", 0);
	number("type", st.st_mode & S_IFMT);
	number("mode", st.st_mode & 07777);
	number("uid", st.st_uid);
	number("gid", st.st_gid);
	number("size", st.st_size);
	number("major", major(st.st_rdev));
	number("minor", minor(st.st_rdev));
}

static void try_node(char *arg)
{
	char *path = strsep(&arg, ":");
	char *a = strsep(&arg, ":");
	char *b = strsep(&arg, ":");
	if (!a || !b)
		exit(2);
	if (mknod(path, S_IFCHR | 0666, makedev(atoi(a), atoi(b))) < 0) {
		number("errno", errno);
		text("error", "mknod");
		return;
	}
	try_open(path, O_RDWR);
	unlink(path);
}

#ifndef STATIC
static void *load(const char *name)
{
	struct link_map *map = NULL;
	void *handle = dlopen(name, RTLD_NOW);
	if (!handle) {
		const char *why = dlerror();
		text("error", why ? why : "dlopen");
		return NULL;
	}
	char real[4096];
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map) {
		text("path", map->l_name);
		if (realpath(map->l_name, real))
			text("real", real);
	}
	return handle;
}

static void call(const char *name, const char *function, int fills)
{
	void *handle = load(name);
	if (!handle)
		return;
	void *f = dlsym(handle, function);
	if (!f) {
		text("error", function);
		return;
	}
	int value = -1;
	number("code", fills ? ((int (*)(int *))f)(&value) : ((int (*)(void))f)());
	number("value", value);
}
#endif

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *arg = strdup(argv[i]);
		char *op = strsep(&arg, ":");
		if (!arg)
			return 2;
		printf("{\"op\": \"%s\"", op);
		text("arg", arg);
		if (!strcmp(op, "open"))
			try_open(arg, O_RDWR);
		else if (!strcmp(op, "write"))
			try_open(arg, O_WRONLY | O_CREAT);
		else if (!strcmp(op, "stat"))
			try_stat(arg);
		else if (!strcmp(op, "node"))
			try_node(arg);
#ifndef STATIC
		else if (!strcmp(op, "load"))
			load(arg);
		else if (!strcmp(op, "driver"))
			call(arg, "cuDriverGetVersion", 1);
		else if (!strcmp(op, "runtime"))
			call(arg, "cudaGetDeviceCount", 1);
		else if (!strcmp(op, "nvml"))
			call(arg, "nvmlInit_v2", 0);
#endif
		else
			text("error", "no such question");
		puts("}");
		fflush(stdout);
	}
	return 0;
}

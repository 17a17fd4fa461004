/* Makes the next flush of a file fail, once: of the file whose name ends with FLUSH_OF, as soon as the file FLUSH_FAILS is
   there, which is removed then. What was written stays readable, as it does when a disk fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(int file) {
    char link[64], path[4096];
    const char *of = getenv("FLUSH_OF"), *when = getenv("FLUSH_FAILS");
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (of == NULL || when == NULL || length < (ssize_t)strlen(of)) return 0;
    path[length] = 0;
    if (strcmp(path + length - strlen(of), of) != 0 || unlink(when) != 0) return 0;
    errno = EIO;
    return 1;
}

static int real(const char *name, int file) {
    int (*call)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return call(file);
}

int fsync(int file) { return fails(file) ? -1 : real("fsync", file); }
int fdatasync(int file) { return fails(file) ? -1 : real("fdatasync", file); }

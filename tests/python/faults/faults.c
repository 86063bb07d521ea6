/* Counts the file-system calls of a program below one folder, and makes one of them fail.
 *
 * FAULTS_ROOT   the folder
 * FAULTS_LOG    a file that receives one line per counted call: number, name of the call, path
 * FAULTS_AT     the number of the call that fails, from 1; 0 for none
 * FAULTS_KIND   enospc, eio, eintr, short, kill-before or kill-after
 *
 * Calls are counted in the order in which they happen; run the program with one thread. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NONE, ENOSPC_, EIO_, EINTR_, SHORT, KILL_BEFORE, KILL_AFTER };

static char root[PATH_MAX];
static long at;
static enum kind kind;
static int out = -1;
static long count;

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("FAULTS_ROOT"), *number = getenv("FAULTS_AT");
    const char *name = getenv("FAULTS_KIND"), *log = getenv("FAULTS_LOG");
    static const char *const names[] = {"none", "enospc", "eio", "eintr", "short", "kill-before", "kill-after"};
    if (folder) strncpy(root, folder, sizeof root - 1);
    if (number) at = atol(number);
    for (int i = 0; name && i < 7; i++)
        if (strcmp(name, names[i]) == 0) kind = (enum kind)i;
    if (log) out = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

/* Returns whether a path is below the root; relative paths start at the current folder or an open one. */
static int below(int folder, const char *path, char *full) {
    char base[PATH_MAX] = "";
    if (path == NULL || root[0] == 0) return 0;
    if (path[0] != '/') {
        char link[64];
        ssize_t n;
        if (folder == AT_FDCWD) {
            if (syscall(SYS_getcwd, base, sizeof base) < 0) return 0;
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            n = readlink(link, base, sizeof base - 1);
            if (n < 0) return 0;
            base[n] = 0;
        }
    }
    snprintf(full, PATH_MAX, "%.2000s%s%.2000s", base, path[0] == '/' ? "" : "/", path);
    return strncmp(full, root, strlen(root)) == 0;
}

static int below_fd(int fd, char *full) {
    char link[64];
    ssize_t n;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, full, PATH_MAX - 1);
    if (n < 0 || root[0] == 0) return 0;
    full[n] = 0;
    return strncmp(full, root, strlen(root)) == 0;
}

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) syscall(SYS_pause);
}

/* Counts and logs a call, and returns the fault to inject. */
static enum kind turn(const char *call, const char *path) {
    int saved = errno;
    long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (out >= 0) {
        char line[PATH_MAX + 64];
        int n = snprintf(line, sizeof line, "%ld %s %s\n", number, call, path);
        syscall(SYS_write, out, line, (size_t)n);
    }
    errno = saved;
    if (number != at) return NONE;
    if (kind == KILL_BEFORE) die();
    return kind;
}

/* Fails a call; EINTR only if the call can be interrupted. */
#define FAULT(call, path, interruptible)                                                                \
    enum kind now = turn(call, path);                                                                   \
    if (now == ENOSPC_) return errno = ENOSPC, -1;                                                      \
    if (now == EIO_) return errno = EIO, -1;                                                            \
    if (now == EINTR_ && (interruptible)) return errno = EINTR, -1
#define AFTER                                                                                           \
    if (now == KILL_AFTER) die()

static int writes(int flags) { return (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0; }

static int do_open(const char *name, int folder, const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    int fd;
    if (!below(folder, path, full) || !writes(flags)) return (int)syscall(SYS_openat, folder, path, flags, mode);
    FAULT(name, full, 1);
    fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    AFTER;
    return fd;
}

#define MODE                                                                                            \
    mode_t mode = 0;                                                                                    \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                \
        va_list rest;                                                                                   \
        va_start(rest, flags);                                                                          \
        mode = (mode_t)va_arg(rest, int);                                                               \
        va_end(rest);                                                                                   \
    }

int open(const char *path, int flags, ...) {
    MODE;
    return do_open("open", AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE;
    return do_open("open", AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
int openat(int folder, const char *path, int flags, ...) {
    MODE;
    return do_open("open", folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
    MODE;
    return do_open("open", folder, path, flags | O_LARGEFILE, mode);
}
int creat(const char *path, mode_t mode) {
    return do_open("open", AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    char full[PATH_MAX];
    ssize_t n;
    if (!below_fd(fd, full)) return syscall(SYS_write, fd, bytes, size);
    FAULT("write", full, 1);
    n = syscall(SYS_write, fd, bytes, now == SHORT && size > 1 ? size / 2 : size);
    AFTER;
    return n;
}

ssize_t writev(int fd, const struct iovec *parts, int n_parts) {
    char full[PATH_MAX];
    ssize_t n;
    if (!below_fd(fd, full)) return syscall(SYS_writev, fd, parts, n_parts);
    FAULT("writev", full, 1);
    n = syscall(SYS_writev, fd, parts, now == SHORT && n_parts > 1 ? 1 : n_parts);
    AFTER;
    return n;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset) {
    char full[PATH_MAX];
    ssize_t n;
    if (!below_fd(fd, full)) return syscall(SYS_pwrite64, fd, bytes, size, offset);
    FAULT("pwrite", full, 1);
    n = syscall(SYS_pwrite64, fd, bytes, now == SHORT && size > 1 ? size / 2 : size, offset);
    AFTER;
    return n;
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) { return pwrite64(fd, bytes, size, offset); }

/* Calls on an open file. */
#define ON_FILE(name, call)                                                                             \
    int name(int fd) {                                                                                  \
        char full[PATH_MAX];                                                                            \
        int done;                                                                                       \
        if (!below_fd(fd, full)) return (int)syscall(call, fd);                                         \
        FAULT(#name, full, 1);                                                                          \
        done = (int)syscall(call, fd);                                                                  \
        AFTER;                                                                                          \
        return done;                                                                                    \
    }
ON_FILE(fsync, SYS_fsync)
ON_FILE(fdatasync, SYS_fdatasync)

int ftruncate64(int fd, off64_t size) {
    char full[PATH_MAX];
    int done;
    if (!below_fd(fd, full)) return (int)syscall(SYS_ftruncate, fd, size);
    FAULT("ftruncate", full, 1);
    done = (int)syscall(SYS_ftruncate, fd, size);
    AFTER;
    return done;
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/* Injects only kills: a program that closes a file ignores the result, and must not try again. */
int close(int fd) {
    char full[PATH_MAX];
    int done;
    if (fd == out && out >= 0) return 0;
    if (!below_fd(fd, full)) return (int)syscall(SYS_close, fd);
    enum kind now = turn("close", full);
    done = (int)syscall(SYS_close, fd);
    AFTER;
    return done;
}

/* Calls on names. */
static int do_rename(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char full[PATH_MAX];
    int done;
    if (!below(to_folder, to, full)) return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    FAULT("rename", full, 0);
    done = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    AFTER;
    return done;
}
int rename(const char *from, const char *to) { return do_rename(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return do_rename(from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    return do_rename(from_folder, from, to_folder, to, flags);
}

#define ON_NAME(name, signature, folder, path, ...)                                                     \
    int name signature {                                                                                \
        char full[PATH_MAX];                                                                            \
        int done;                                                                                       \
        if (!below(folder, path, full)) return (int)syscall(__VA_ARGS__);                               \
        FAULT(#name, full, 0);                                                                          \
        done = (int)syscall(__VA_ARGS__);                                                               \
        AFTER;                                                                                          \
        return done;                                                                                    \
    }
ON_NAME(unlink, (const char *path), AT_FDCWD, path, SYS_unlinkat, AT_FDCWD, path, 0)
ON_NAME(unlinkat, (int folder, const char *path, int flags), folder, path, SYS_unlinkat, folder, path, flags)
ON_NAME(rmdir, (const char *path), AT_FDCWD, path, SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR)
ON_NAME(mkdir, (const char *path, mode_t mode), AT_FDCWD, path, SYS_mkdirat, AT_FDCWD, path, mode)
ON_NAME(mkdirat, (int folder, const char *path, mode_t mode), folder, path, SYS_mkdirat, folder, path, mode)
ON_NAME(link, (const char *from, const char *path), AT_FDCWD, path, SYS_linkat, AT_FDCWD, from, AT_FDCWD, path, 0)
ON_NAME(linkat, (int from_folder, const char *from, int folder, const char *path, int flags), folder, path, SYS_linkat,
        from_folder, from, folder, path, flags)
ON_NAME(symlink, (const char *to, const char *path), AT_FDCWD, path, SYS_symlinkat, to, AT_FDCWD, path)
ON_NAME(chmod, (const char *path, mode_t mode), AT_FDCWD, path, SYS_fchmodat, AT_FDCWD, path, mode)

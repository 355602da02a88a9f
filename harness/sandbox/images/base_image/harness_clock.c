/*
 * Moves the wall clock of one program, and nothing else.
 *
 * Preloaded into a dynamic program, it adds HARNESS_CLOCK_OFFSET_NS to whatever reads CLOCK_REALTIME. CLOCK_MONOTONIC
 * stays as it is: shifting it too makes waits with a timeout hang. Functions that wait until an absolute wall time get
 * that time shifted back before the kernel sees it, or they would wake at once or never. Not covered: static programs,
 * programs that make system calls by themselves (Go), and the times of files.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
/* An absolute time before 1973 can only be the monotonic clock's: no condition variable tells which clock it uses. */
#define EARLIEST_WALL_S 100000000LL

static int64_t offset_s;
static int64_t offset_ns; /* 0 <= offset_ns < NS_PER_S */

/* By hand: strtoll may set errno, and a program must not find one that it did not cause. */
__attribute__((constructor)) static void read_offset(void) {
    const char *text = getenv("HARNESS_CLOCK_OFFSET_NS");
    int64_t value = 0;
    int negative = 0;
    if (text == NULL) return;
    if (*text == '-') {
        negative = 1;
        text++;
    }
    for (; *text >= '0' && *text <= '9' && value < INT64_MAX / 10 - 9; text++) value = value * 10 + (*text - '0');
    if (*text != '\0') return;
    if (negative) value = -value;
    offset_s = value / NS_PER_S;
    offset_ns = value % NS_PER_S;
    if (offset_ns < 0) {
        offset_ns += NS_PER_S;
        offset_s -= 1;
    }
}

static int is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

static void forward(struct timespec *at) {
    at->tv_sec += offset_s;
    at->tv_nsec += offset_ns;
    if (at->tv_nsec >= NS_PER_S) {
        at->tv_nsec -= NS_PER_S;
        at->tv_sec += 1;
    }
}

/* A time that is not valid is passed on as it is: refusing it is the real function's work. */
static struct timespec back(const struct timespec *at) {
    struct timespec real = *at;
    if (at->tv_nsec < 0 || at->tv_nsec >= NS_PER_S || at->tv_sec < EARLIEST_WALL_S) return real;
    real.tv_sec -= offset_s;
    real.tv_nsec -= offset_ns;
    if (real.tv_nsec < 0) {
        real.tv_nsec += NS_PER_S;
        real.tv_sec -= 1;
    }
    if (real.tv_sec < 0) real.tv_sec = 0;
    return real;
}

/* Looked up at the first use, not in a constructor: another library's constructor may come first. */
static void *next(const char *name, const char *version) {
    int saved = errno;
    void *found = version == NULL ? NULL : dlvsym(RTLD_NEXT, name, version);
    if (found == NULL) found = dlsym(RTLD_NEXT, name);
    errno = saved;
    return found;
}

#define REAL(type, name, version)                                   \
    static type real;                                               \
    type known = __atomic_load_n(&real, __ATOMIC_RELAXED);          \
    if (known == NULL) {                                            \
        known = (type)(intptr_t)next(name, version);                \
        __atomic_store_n(&real, known, __ATOMIC_RELAXED);           \
    }

typedef int (*clock_function)(clockid_t, struct timespec *);
typedef int (*nanosleep_function)(clockid_t, int, const struct timespec *, struct timespec *);
typedef int (*sem_function)(sem_t *, const struct timespec *);
typedef int (*mutex_function)(pthread_mutex_t *, const struct timespec *);
typedef int (*rwlock_function)(pthread_rwlock_t *, const struct timespec *);
typedef int (*cond_function)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
typedef int (*cond_clock_function)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
typedef int (*sem_clock_function)(sem_t *, clockid_t, const struct timespec *);

int clock_gettime(clockid_t clock, struct timespec *at) {
    REAL(clock_function, "clock_gettime", NULL)
    int result = known(clock, at);
    if (result == 0 && is_wall(clock)) forward(at);
    return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    if (zone != NULL) *(struct timezone *)zone = (struct timezone){0};
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
    if (at != NULL) *at = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *at, int kind) {
    if (kind != TIME_UTC || clock_gettime(CLOCK_REALTIME, at) != 0) return 0;
    return kind;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left) {
    REAL(nanosleep_function, "clock_nanosleep", NULL)
    if (!is_wall(clock) || (flags & TIMER_ABSTIME) == 0) return known(clock, flags, until, left);
    struct timespec shifted = back(until);
    return known(clock, flags, &shifted, left);
}

int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict until) {
    REAL(sem_function, "sem_timedwait", NULL)
    struct timespec shifted = back(until);
    return known(sem, &shifted);
}

int sem_clockwait(sem_t *restrict sem, clockid_t clock, const struct timespec *restrict until) {
    REAL(sem_clock_function, "sem_clockwait", NULL)
    struct timespec shifted = is_wall(clock) ? back(until) : *until;
    return known(sem, clock, &shifted);
}

/* x86_64 keeps an older function of the same name, which a look-up without a version may find. */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    REAL(cond_function, "pthread_cond_timedwait", "GLIBC_2.3.2")
    struct timespec shifted = back(until);
    return known(cond, mutex, &shifted);
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
    REAL(cond_clock_function, "pthread_cond_clockwait", NULL)
    struct timespec shifted = is_wall(clock) ? back(until) : *until;
    return known(cond, mutex, clock, &shifted);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
    REAL(mutex_function, "pthread_mutex_timedlock", NULL)
    struct timespec shifted = back(until);
    return known(mutex, &shifted);
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict until) {
    REAL(rwlock_function, "pthread_rwlock_timedrdlock", NULL)
    struct timespec shifted = back(until);
    return known(lock, &shifted);
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict until) {
    REAL(rwlock_function, "pthread_rwlock_timedwrlock", NULL)
    struct timespec shifted = back(until);
    return known(lock, &shifted);
}

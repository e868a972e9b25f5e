/* Work that meets the scheduler's probes as often as work can: for each line "KIND COUNT" on standard input it
 * does that and answers "CPU_NS WALL_NS" of the whole process.
 *
 * pipes: two threads on one processor hand a byte to and fro through pipes, COUNT times, two switches each.
 * calls: COUNT system calls that do nothing (getppid).
 * locks: two threads on one processor pass a futex to and fro, COUNT times.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int there[2], back[2];
static sem_t ping, pong;
static long count;

static long long now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *echo_bytes(void *unused)
{
	char byte;
	long i;

	for (i = 0; i < count; i++)
		if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
			abort();
	return unused;
}

static void *echo_posts(void *unused)
{
	long i;

	for (i = 0; i < count; i++) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return unused;
}

static void both(void *(*other)(void *), int by_pipe)
{
	pthread_t thread;
	char byte = 'x';
	long i;

	pthread_create(&thread, NULL, other, NULL);
	for (i = 0; i < count; i++) {
		if (by_pipe) {
			if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
				abort();
		} else {
			sem_post(&ping);
			sem_wait(&pong);
		}
	}
	pthread_join(thread, NULL);
}

int main(void)
{
	char kind[16];
	cpu_set_t one;
	long i;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (pipe(there) || pipe(back) || sem_init(&ping, 0, 0) || sem_init(&pong, 0, 0))
		return 1;
	while (scanf("%15s %ld", kind, &count) == 2) {
		long long wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);

		if (!strcmp(kind, "pipes"))
			both(echo_bytes, 1);
		else if (!strcmp(kind, "locks"))
			both(echo_posts, 0);
		else
			for (i = 0; i < count; i++)
				syscall(SYS_getppid);
		printf("%lld %lld\n", now(CLOCK_PROCESS_CPUTIME_ID) - cpu, now(CLOCK_MONOTONIC) - wall);
		fflush(stdout);
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Children: exit statuses and signals as they are, programs that are not there or not executable, arguments untouched,
 * the channel, standard output turned to standard error, stop signals passed on, and nothing left running.
 */
#include "test_helpers.h"

#include "sys/clock.h"
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t PATIENCE_NS = 20000000000;

static eco_proc_watch *open_watch(void) {
    eco_proc_watch *watch = NULL;
    eco_error error = {0};
    ASSERT_OK(ecoi_proc_watch_open(&watch, &error), &error);
    return watch;
}

/* Starts and waits for the end; gathers the channel. */
static eco_proc_end run_child(eco_proc_watch *watch, const eco_proc_options *options, char *channel,
                              size_t size) {
    eco_proc_end end = {0};
    eco_error error = {0};
    int64_t t_ns = 0;
    size_t n = 0;
    ASSERT_OK(ecoi_proc_start(watch, options, &t_ns, &error), &error);
    const int64_t give_up_ns = ecoi_now_ns() + PATIENCE_NS;
    uint32_t seen = 0;
    while ((seen & ECO_PROC_ENDED) == 0) {
        assert_true(ecoi_now_ns() < give_up_ns);
        seen = ecoi_proc_wait(watch, give_up_ns, &end);
        size_t got = 0;
        while (channel != NULL && n + 1 < size &&
               (got = ecoi_proc_channel_read(watch, channel + n, size - 1 - n)) > 0) {
            n += got;
        }
    }
    if (channel != NULL) {
        channel[n] = '\0';
    }
    assert_true(end.t_ns >= t_ns);
    return end;
}

static eco_proc_end run_shell(eco_proc_watch *watch, const char *script, char *channel,
                              size_t size) {
    char text[512];
    (void)snprintf(text, sizeof text, "%s", script);
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, text, NULL};
    const eco_proc_options options = {.argv = argv, .channel_name = "ECO_TEST_FD"};
    return run_child(watch, &options, channel, size);
}

static void ends_as_they_are(void **state) {
    (void)state;
    eco_proc_watch *watch = open_watch();
    eco_proc_end end = run_shell(watch, "exit 0", NULL, 0);
    assert_int_equal(end.exit_status, 0);
    assert_int_equal(end.signal, 0);
    end = run_shell(watch, "exit 137", NULL, 0);
    assert_int_equal(end.exit_status, 137);
    assert_int_equal(end.signal, 0);
    end = run_shell(watch, "kill -KILL $$", NULL, 0);
    assert_int_equal(end.signal, SIGKILL);
    /* The mask is not inherited: SIGTERM works in the child though it is blocked here. */
    end = run_shell(watch, "kill -TERM $$; exit 0", NULL, 0);
    assert_int_equal(end.signal, SIGTERM);
    assert_int_equal(ecoi_proc_interrupted(watch), 0);
    ecoi_proc_watch_close(watch);
}

static void pipe_signal_is_usual(void **state) {
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN); /* as the program has it */
    eco_proc_watch *watch = open_watch();
    const eco_proc_end end = run_shell(watch, "kill -PIPE $$; exit 0", NULL, 0);
    assert_int_equal(end.signal, SIGPIPE);
    ecoi_proc_watch_close(watch);
}

static void processor_time(void **state) {
    (void)state;
    eco_proc_watch *watch = open_watch();
    const eco_proc_end idle = run_shell(watch, "sleep 0.2", NULL, 0);
    const eco_proc_end busy =
        run_shell(watch, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", NULL, 0);
    assert_true(idle.cpu_s < 0.1);
    assert_true(busy.cpu_s > 0.01);
    ecoi_proc_watch_close(watch);
}

static void start_fails(eco_proc_watch *watch, const char *program, eco_status wanted, int number) {
    char name[256];
    (void)snprintf(name, sizeof name, "%s", program);
    char *const argv[] = {name, NULL};
    const eco_proc_options options = {.argv = argv, .channel_name = "ECO_TEST_FD"};
    eco_error error = {0};
    int64_t t_ns = 0;
    assert_int_equal(ecoi_proc_start(watch, &options, &t_ns, &error), wanted);
    assert_int_equal(error.native, number);
    assert_non_null(strstr(error.message, program));
}

static void not_startable(void **state) {
    (void)state;
    eco_proc_watch *watch = open_watch();
    char path[] = "/tmp/eco-proc-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    start_fails(watch, "eco-no-such-program", ECO_E_NOT_FOUND, ENOENT);
    start_fails(watch, "/nowhere/eco-no-such-program", ECO_E_NOT_FOUND, ENOENT);
    start_fails(watch, path, ECO_E_PERMISSION, EACCES);
    start_fails(watch, "/", ECO_E_PERMISSION, EACCES);
    /* A script without its first line is no program: no shell is tried. */
    assert_int_equal(write(fd, "exit 0\n", 7), 7);
    assert_int_equal(fchmod(fd, 0700), 0);
    (void)close(fd);
    start_fails(watch, path, ECO_E_PERMISSION, ENOEXEC);
    (void)unlink(path);
    /* After all that the watch still works. */
    assert_int_equal(run_shell(watch, "exit 3", NULL, 0).exit_status, 3);
    ecoi_proc_watch_close(watch);
}

static void arguments_untouched(void **state) {
    (void)state;
    eco_proc_watch *watch = open_watch();
    char got[512];
    char *const argv[] = {(char[]){"sh"},
                          (char[]){"-c"},
                          (char[]){"for a; do printf '<%s>' \"$a\" >&$ECO_TEST_FD; done"},
                          (char[]){"name"},
                          (char[]){"a b"},
                          (char[]){""},
                          (char[]){"*"},
                          (char[]){"$HOME;`id`"},
                          (char[]){"--json"},
                          NULL};
    const eco_proc_options options = {.argv = argv, .channel_name = "ECO_TEST_FD"};
    const eco_proc_end end = run_child(watch, &options, got, sizeof got);
    assert_int_equal(end.exit_status, 0);
    assert_string_equal(got, "<a b><><*><$HOME;`id`><--json>");
    ecoi_proc_watch_close(watch);
}

static void channel_of_each_child(void **state) {
    (void)state;
    eco_proc_watch *watch = open_watch();
    char got[128];
    /* An older value of the variable gives way; a grandchild may write too. */
    assert_int_equal(setenv("ECO_TEST_FD", "1", 1), 0);
    (void)run_shell(watch, "echo one >&$ECO_TEST_FD; (echo two >&$ECO_TEST_FD)", got, sizeof got);
    assert_string_equal(got, "one\ntwo\n");
    (void)run_shell(watch, "exit 0", got, sizeof got);
    assert_string_equal(got, "");
    (void)run_shell(watch, "echo three >&$ECO_TEST_FD", got, sizeof got);
    assert_string_equal(got, "three\n");
    assert_int_equal(unsetenv("ECO_TEST_FD"), 0);
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"[ -z \"${ECO_TEST_FD+set}\" ]"},
                          NULL};
    const eco_proc_options options = {.argv = argv};
    assert_int_equal(run_child(watch, &options, NULL, 0).exit_status, 0);
    ecoi_proc_watch_close(watch);
}

static void output_turned(void **state) {
    (void)state;
    char path[] = "/tmp/eco-proc-err-XXXXXX";
    char got[64] = "";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    const int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    eco_proc_watch *watch = open_watch();
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"printf out; printf err >&2"},
                          NULL};
    const eco_proc_options options = {.argv = argv, .stdout_to_stderr = true};
    const eco_proc_end end = run_child(watch, &options, NULL, 0);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    assert_int_equal(end.exit_status, 0);
    assert_int_equal(pread(fd, got, sizeof got - 1, 0), 6);
    assert_string_equal(got, "outerr");
    (void)close(fd);
    (void)unlink(path);
    ecoi_proc_watch_close(watch);
}

/* The child says when it is ready, so nothing here waits for a time to pass. */
static void start_ready(eco_proc_watch *watch, const char *script) {
    char text[512];
    char got[64] = "";
    size_t n = 0;
    eco_error error = {0};
    eco_proc_end end;
    int64_t t_ns = 0;
    (void)snprintf(text, sizeof text, "%s", script);
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, text, NULL};
    const eco_proc_options options = {.argv = argv, .channel_name = "ECO_TEST_FD"};
    ASSERT_OK(ecoi_proc_start(watch, &options, &t_ns, &error), &error);
    const int64_t give_up_ns = ecoi_now_ns() + PATIENCE_NS;
    while (strchr(got, '\n') == NULL) {
        assert_true(ecoi_now_ns() < give_up_ns);
        (void)ecoi_proc_wait(watch, give_up_ns, &end);
        n += ecoi_proc_channel_read(watch, got + n, sizeof got - 1 - n);
        got[n] = '\0';
    }
}

static eco_proc_end wait_end(eco_proc_watch *watch) {
    eco_proc_end end = {0};
    const int64_t give_up_ns = ecoi_now_ns() + PATIENCE_NS;
    while ((ecoi_proc_wait(watch, give_up_ns, &end) & ECO_PROC_ENDED) == 0) {
        assert_true(ecoi_now_ns() < give_up_ns);
    }
    return end;
}

static void stop_reaches_the_child(void **state) {
    (void)state;
    static const int stops[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        eco_proc_watch *watch = open_watch();
        start_ready(watch, "echo ready >&$ECO_TEST_FD; exec sleep 30");
        assert_int_equal(kill(getpid(), stops[i]), 0);
        const eco_proc_end end = wait_end(watch);
        assert_int_equal(end.signal, stops[i]);
        assert_int_equal(ecoi_proc_interrupted(watch), stops[i]);
        ecoi_proc_watch_close(watch);
    }
}

static void child_may_finish(void **state) {
    (void)state;
    eco_proc_watch *watch = open_watch();
    start_ready(watch,
                "trap 'exit 9' INT; echo ready >&$ECO_TEST_FD; while :; do sleep 0.01; done");
    assert_int_equal(kill(getpid(), SIGINT), 0);
    const eco_proc_end end = wait_end(watch);
    assert_int_equal(end.signal, 0);
    assert_int_equal(end.exit_status, 9);
    ecoi_proc_watch_close(watch);
}

static void second_signal_kills(void **state) {
    (void)state;
    eco_proc_watch *watch = open_watch();
    eco_proc_end end = {0};
    start_ready(watch, "trap '' INT TERM; echo ready >&$ECO_TEST_FD; sleep 30; sleep 30");
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    /* One event may arrive twice at once: that is not a second wish. */
    assert_int_equal(ecoi_proc_interrupted(watch), SIGTERM);
    assert_int_equal(kill(getpid(), SIGINT), 0);
    const int64_t until_ns = ecoi_now_ns() + 700000000;
    assert_int_equal(ecoi_proc_wait(watch, until_ns, &end), 0);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    end = wait_end(watch);
    assert_int_equal(end.signal, SIGKILL);
    ecoi_proc_watch_close(watch);
}

static void close_leaves_nothing(void **state) {
    (void)state;
    eco_proc_watch *watch = open_watch();
    char path[] = "/tmp/eco-proc-pid-XXXXXX";
    char script[256];
    char text[32] = "";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)snprintf(script, sizeof script, "echo $$ >%s; echo ready >&$ECO_TEST_FD; exec sleep 30",
                   path);
    start_ready(watch, script);
    assert_true(pread(fd, text, sizeof text - 1, 0) > 0);
    const pid_t pid = (pid_t)strtol(text, NULL, 10);
    assert_true(pid > 1);
    assert_int_equal(kill(pid, 0), 0);
    ecoi_proc_watch_close(watch);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    (void)close(fd);
    (void)unlink(path);
    sigset_t mask;
    assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
    assert_int_equal(sigismember(&mask, SIGINT), 0);
    assert_int_equal(sigismember(&mask, SIGTERM), 0);
    ecoi_proc_watch_close(NULL);
}

static void deadline_is_kept(void **state) {
    (void)state;
    eco_proc_watch *watch = open_watch();
    eco_proc_end end = {0};
    start_ready(watch, "echo ready >&$ECO_TEST_FD; exec sleep 30");
    const int64_t until_ns = ecoi_now_ns() + 30000000;
    assert_int_equal(ecoi_proc_wait(watch, until_ns, &end), 0);
    assert_true(ecoi_now_ns() >= until_ns);
    ecoi_proc_watch_close(watch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_as_they_are),     cmocka_unit_test(pipe_signal_is_usual),
        cmocka_unit_test(processor_time),       cmocka_unit_test(not_startable),
        cmocka_unit_test(arguments_untouched),  cmocka_unit_test(channel_of_each_child),
        cmocka_unit_test(output_turned),        cmocka_unit_test(stop_reaches_the_child),
        cmocka_unit_test(child_may_finish),     cmocka_unit_test(second_signal_kills),
        cmocka_unit_test(close_leaves_nothing), cmocka_unit_test(deadline_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

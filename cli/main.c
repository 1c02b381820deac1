/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute COMMAND: finds the command and runs it; what standard output refused is told at the end.
 */
#include "cli.h"

#include "ecocompute/arch.h"
#include "ecocompute/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
#define ECO_COMMAND(name, summary) {#name, summary, cmd_##name},
#include "commands.def"
#undef ECO_COMMAND
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

/* Commands of the contract that this version lacks. */
static const char *const later_commands[] = {"sweep"};

static void print_help(FILE *stream) {
    fprintf(stream, "Usage: ecocompute COMMAND [options]\n"
                    "Does a precision save or cost energy per token, on this machine, with this "
                    "engine, and why?\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(stream, "\nExample: ecocompute measure --quick\n"
                    "Each command has --help. Exit status: 0 done, 1 failed, 2 usage, 3 nothing "
                    "could be measured,\n"
                    "4 a check said no, 130 or 143 interrupted.\n");
}

/* Flags of energy_estimate that no other command has, and --model: published command lines leave the task out, or call it
 * "run". The whole name, or what stands before '='. */
static bool is_task_flag(const char *given) {
    static const char *const flags[] = {
        "--parameters_file", "--output_dir",       "--model_name",   "--model",
        "--precision",       "--gpu_arch",         "--batch_size",   "--params_b",
        "--tokens",          "--iterations",       "--warmup",       "--sample_rate_hz",
        "--context_length",  "--no_quality_probe", "--quality_text", "--quality_seq_len",
        "--dry_run",         "--prefetch",         "--share",        "--thermal_mode",
        "--power_trace",     "--api_base",         "--site",         "--require_measured"};
    const size_t length = strcspn(given, "=");
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strlen(flags[i]) == length && strncmp(given, flags[i], length) == 0) {
            return true;
        }
    }
    return false;
}

static int task_missing(const char *flag) {
    cli_err("ecocompute: the command is missing before '%s'; the published task is `ecocompute "
            "energy_estimate %s …`\n",
            flag, flag);
    return EXIT_USAGE;
}

static int task_called_run(const char *flag) {
    cli_err("ecocompute: run measures another program here; the published task, there also called "
            "run, is `ecocompute energy_estimate %s …`\n",
            flag);
    return EXIT_USAGE;
}

static int unknown_command(const char *name) {
    for (size_t i = 0; i < sizeof later_commands / sizeof later_commands[0]; i++) {
        if (strcmp(name, later_commands[i]) == 0) {
            cli_err("ecocompute: command %s is not in this version\n", name);
            return EXIT_USAGE;
        }
    }
    const char *names[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++) {
        names[i] = commands[i].name;
    }
    const char *nearest = eco_nearest_name(name, names, N_COMMANDS);
    cli_err("ecocompute: unknown command '%s'%s%s%s; `ecocompute --help` lists them\n", name,
            nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
            nearest != NULL ? "'?" : "");
    return EXIT_USAGE;
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        cli_out("ecocompute %s (%s)\n", eco_version(), eco_build_description());
        return EXIT_DONE;
    }
    if (is_task_flag(argv[1])) {
        return task_missing(argv[1]);
    }
    if (strcmp(argv[1], "run") == 0 && argc > 2 && is_task_flag(argv[2])) {
        return task_called_run(argv[2]);
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return unknown_command(argv[1]);
}

/* A standard descriptor that is closed would be given to the next file opened, and output would end in that file. Its
 * place is taken by one that can only be used the other way, so that a write still fails and is told. */
static bool hold_standard_files(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    if (!hold_standard_files()) {
        return EXIT_FAILED;
    }
    if (!eco_signals_install()) {
        cli_err("ecocompute: the system refused a signal handler\n");
        return EXIT_FAILED;
    }
    const int lost = argc > 1 && strcmp(argv[1], "run") == 0 ? EXIT_OWN : EXIT_FAILED;
    int status = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        cli_err("ecocompute: standard output: %s\n", errno != 0 ? strerror(errno) : "write failed");
        status = status != EXIT_DONE ? status : lost;
    }
    if (cli_driver_stuck()) {
        _Exit(status);
    }
    return status;
}

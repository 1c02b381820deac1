/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared page of the fakes. Each library holds its own copy of this file, so where no file is
 * named the first of them makes an anonymous one and names it in the environment for the others of
 * the process.
 */
#define _GNU_SOURCE

#include "fake_page.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t page_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_page *page_mapped;

static void page_die(const char *what) {
    perror(what);
    abort();
}

static int page_file(void) {
    const char *path = getenv("ECO_FAKE_PAGE");
    if (path != NULL && path[0] != '\0') {
        return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    }
    char name[64];
    const int fd = memfd_create("eco-fake-page", 0);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (fd >= 0 && setenv("ECO_FAKE_PAGE", name, 1) != 0) {
        page_die("fake page: setenv");
    }
    return fd;
}

struct fake_page *fake_page_map(void) {
    (void)pthread_mutex_lock(&page_lock);
    if (page_mapped == NULL) {
        const int fd = page_file();
        struct stat st;
        if (fd < 0 || fstat(fd, &st) != 0) {
            page_die("fake page: ECO_FAKE_PAGE");
        }
        if (st.st_size < (off_t)sizeof(struct fake_page) &&
            ftruncate(fd, sizeof(struct fake_page)) != 0) {
            page_die("fake page: ftruncate");
        }
        void *mapped =
            mmap(NULL, sizeof(struct fake_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED) {
            page_die("fake page: mmap");
        }
        /* An anonymous page stays open under its name for the process's other copies. */
        char self[64];
        (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
        const char *path = getenv("ECO_FAKE_PAGE");
        if (path == NULL || strncmp(path, self, sizeof self) != 0) {
            (void)close(fd);
        }
        page_mapped = mapped;
    }
    struct fake_page *page = page_mapped;
    (void)pthread_mutex_unlock(&page_lock);
    return page;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * dlopen with a symbol table. The loader's own search comes first, then the known driver folders,
 * so a driver that a container mounts somewhere unusual is still found. The path really loaded is
 * kept, because a report must be able to show that a library was not the vendor's. As root, a
 * library that other users could have planted is not loaded.
 */
#define _GNU_SOURCE

#include "sys/dl.h"

#include "core/alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DL_TEXT_MAX = 200 };

struct eco_dl {
    void *handle;
    char path[PATH_MAX]; /* resolved */
    bool known;
};

/* Why the candidates so far did not do. */
typedef struct dl_search {
    char stub[DL_TEXT_MAX];   /* a toolkit stub that was met */
    char broken[DL_TEXT_MAX]; /* the loader's words on a file that is there but does not load */
} dl_search;

/* The loader's own folders, and the one that container runtimes mount drivers below. */
static const char *const dl_system_folders[] = {"/lib",
                                                "/lib64",
                                                "/usr/lib",
                                                "/usr/lib64",
                                                "/lib/x86_64-linux-gnu",
                                                "/usr/lib/x86_64-linux-gnu",
                                                "/lib/aarch64-linux-gnu",
                                                "/usr/lib/aarch64-linux-gnu",
                                                NULL};
static const char dl_mounted_folder[] = "/usr/local/nvidia/";

static bool dl_folder_is(const char *path, const char *folder) {
    const char *slash = strrchr(path, '/');
    const size_t length = strlen(folder);
    return slash != NULL && (size_t)(slash - path) == length && strncmp(path, folder, length) == 0;
}

static bool dl_folder_listed(const char *path, const char *const *folders) {
    for (size_t i = 0; folders != NULL && folders[i] != NULL; i++) {
        if (dl_folder_is(path, folders[i])) {
            return true;
        }
    }
    return false;
}

static bool dl_known(const char *path, const eco_dl_library *library) {
    return strstr(path, "/../") == NULL &&
           (dl_folder_listed(path, library->folders) || dl_folder_listed(path, dl_system_folders) ||
            strncmp(path, dl_mounted_folder, sizeof dl_mounted_folder - 1) == 0);
}

static bool dl_writable_by_others(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) {
        return false;
    }
    return (st.st_mode & S_IWOTH) != 0 && !(S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0);
}

/* As root, the folder of LD_LIBRARY_PATH that the loader would take the library from must be
 * absolute and closed to others. Must run before dlopen: loading runs the library's constructors.
 */
static eco_status dl_refuse_planted(const char *soname, eco_error *err) {
    const char *rest = geteuid() == 0 ? getenv("LD_LIBRARY_PATH") : NULL;
    while (rest != NULL && *rest != '\0') {
        const size_t length = strcspn(rest, ":;");
        char folder[PATH_MAX];
        char path[PATH_MAX];
        const int n_folder =
            snprintf(folder, sizeof folder, "%.*s", (int)length, length > 0 ? rest : ".");
        const int n_path = snprintf(path, sizeof path, "%s/%s", length > 0 ? folder : ".", soname);
        if (n_folder >= 0 && n_path > 0 && (size_t)n_path < sizeof path &&
            access(path, F_OK) == 0) {
            if (path[0] != '/') {
                return eco_error_set(err, ECO_E_PERMISSION, 0,
                                     "%s: refused as root: LD_LIBRARY_PATH holds a relative folder",
                                     path);
            }
            if (dl_writable_by_others(path) || dl_writable_by_others(folder)) {
                return eco_error_set(err, ECO_E_PERMISSION, 0,
                                     "%s: refused as root: other users may write it", path);
            }
            return ECO_OK;
        }
        rest += length;
        rest += *rest != '\0' ? 1 : 0;
    }
    return ECO_OK;
}

/* Where the loader found it, as it spells it and resolved. */
static bool dl_paths(void *handle, char spelled[PATH_MAX], char resolved[PATH_MAX]) {
    struct link_map *map = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == NULL || map->l_name == NULL) {
        return false;
    }
    (void)snprintf(spelled, PATH_MAX, "%s", map->l_name);
    if (realpath(map->l_name, resolved) == NULL) {
        (void)snprintf(resolved, PATH_MAX, "%s", map->l_name);
    }
    return true;
}

/* One candidate: true when it is loaded and no stub. */
static bool dl_try(const char *name, const eco_dl_library *library, eco_dl *dl, dl_search *search) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *why = dlerror();
        if (why != NULL && strstr(why, "No such file") == NULL && search->broken[0] == '\0') {
            (void)snprintf(search->broken, sizeof search->broken, "%s", why);
        }
        return false;
    }
    char spelled[PATH_MAX] = "";
    if (!dl_paths(handle, spelled, dl->path)) {
        (void)dlclose(handle);
        return false;
    }
    if (strstr(spelled, "/stubs/") != NULL || strstr(dl->path, "/stubs/") != NULL) {
        (void)snprintf(search->stub, sizeof search->stub, "%s", spelled);
        (void)dlclose(handle);
        return false;
    }
    dl->handle = handle;
    dl->known = dl_known(spelled, library) || dl_known(dl->path, library);
    return true;
}

static eco_status dl_not_found(const eco_dl_library *library, const dl_search *search,
                               eco_error *err) {
    if (search->stub[0] != '\0') {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0,
                             "%s is a toolkit stub, not the driver's library: take its folder out "
                             "of LD_LIBRARY_PATH",
                             search->stub);
    }
    if (search->broken[0] != '\0') {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "%s", search->broken);
    }
    char tried[ECO_ERROR_MESSAGE_MAX] = "";
    size_t used = 0;
    for (size_t i = 0; library->folders != NULL && library->folders[i] != NULL; i++) {
        const int n = snprintf(tried + used, sizeof tried - used, ":%s", library->folders[i]);
        if (n < 0 || (size_t)n >= sizeof tried - used) {
            break;
        }
        used += (size_t)n;
    }
    return eco_error_set(err, ECO_E_NOT_FOUND, 0, "%s not found (loader%s)", library->soname,
                         tried);
}

static eco_status dl_load(const eco_dl_library *library, eco_dl *dl, eco_error *err) {
    ECO_TRY(dl_refuse_planted(library->soname, err));
    dl_search search = {0};
    if (dl_try(library->soname, library, dl, &search)) {
        return ECO_OK;
    }
    for (size_t i = 0; library->folders != NULL && library->folders[i] != NULL; i++) {
        char path[PATH_MAX];
        const int n = snprintf(path, sizeof path, "%s/%s", library->folders[i], library->soname);
        if (n > 0 && (size_t)n < sizeof path && dl_try(path, library, dl, &search)) {
            return ECO_OK;
        }
    }
    return dl_not_found(library, &search, err);
}

static eco_status dl_resolve(const eco_dl_library *library, const eco_dl *dl, void *table,
                             eco_error *err) {
    for (size_t i = 0; i < library->n_symbols; i++) {
        const eco_dl_symbol *symbol = &library->symbols[i];
        void *address = NULL;
        for (size_t k = 0; k < sizeof symbol->names / sizeof symbol->names[0]; k++) {
            if (symbol->names[k] == NULL || address != NULL) {
                break;
            }
            address = dlsym(dl->handle, symbol->names[k]);
        }
        if (address == NULL && symbol->required) {
            return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "%s has no %s%s%s", dl->path,
                                 symbol->names[0], symbol->names[1] != NULL ? " or " : "",
                                 symbol->names[1] != NULL ? symbol->names[1] : "");
        }
        memcpy((char *)table + symbol->offset, &address, sizeof address);
    }
    return ECO_OK;
}

static void dl_zero(const eco_dl_library *library, void *table) {
    for (size_t i = 0; i < library->n_symbols; i++) {
        memset((char *)table + library->symbols[i].offset, 0, sizeof(void *));
    }
}

eco_status ecoi_dl_open(const eco_dl_library *library, void *table, eco_dl **out, eco_error *err) {
    *out = NULL;
    dl_zero(library, table);
    eco_dl *dl = ecoi_calloc(1, sizeof *dl);
    if (dl == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, errno, "%s: out of memory", library->soname);
    }
    eco_status status = dl_load(library, dl, err);
    if (status == ECO_OK) {
        status = dl_resolve(library, dl, table, err);
    }
    if (status != ECO_OK) {
        dl_zero(library, table);
        ecoi_dl_close(dl);
        return status;
    }
    *out = dl;
    return ECO_OK;
}

const char *ecoi_dl_path(const eco_dl *dl) {
    return dl->path;
}

bool ecoi_dl_path_known(const eco_dl *dl) {
    return dl->known;
}

void ecoi_dl_close(eco_dl *dl) {
    if (dl == NULL) {
        return;
    }
    if (dl->handle != NULL) {
        (void)dlclose(dl->handle);
    }
    ecoi_free(dl);
}

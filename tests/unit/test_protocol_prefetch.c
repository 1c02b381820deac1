/* SPDX-License-Identifier: Apache-2.0
 *
 * The question to the published estimator: its address, what is made of an answer, and the exchange itself with a server of
 * this test on the loopback. SPEC 7.1 case 13 (a dead port is a failure in one line) is here too. Without libcurl the
 * exchange says so, which is all that can be tested then.
 */
#include "test_helpers.h"

#include "ecocompute/prefetch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUEST_MAX = 4096 };

/* Accepts one connection and answers it with `answer`; NULL: never. */
typedef struct server {
    int listener;
    uint16_t port;
    const char *answer;
    size_t filler; /* bytes of blanks behind the answer */
    char request[REQUEST_MAX];
    int held; /* the connection that got no answer */
    pthread_t thread;
} server;

static void *serve(void *user) {
    server *s = user;
    const int peer = accept(s->listener, NULL, NULL);
    size_t used = 0;
    while (peer >= 0 && used + 1 < sizeof s->request && strstr(s->request, "\r\n\r\n") == NULL) {
        const ssize_t n = read(peer, s->request + used, sizeof s->request - 1 - used);
        if (n <= 0) {
            break;
        }
        used += (size_t)n;
        s->request[used] = '\0';
    }
    if (s->answer == NULL) {
        s->held = peer;
        return NULL;
    }
    (void)!write(peer, s->answer, strlen(s->answer));
    static const char blanks[1024] = {' '};
    for (size_t left = s->filler; left >= sizeof blanks; left -= sizeof blanks) {
        if (send(peer, blanks, sizeof blanks, MSG_NOSIGNAL) < 0) {
            break;
        }
    }
    close(peer);
    return NULL;
}

static void server_start(server *s) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    s->held = -1;
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(s->listener >= 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->listener, 1), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&at, &length), 0);
    s->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(server *s) {
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listener);
    if (s->held >= 0) {
        close(s->held);
    }
}

static eco_status ask(uint16_t port, uint32_t timeout_ms, eco_prefetch_answer *answer,
                      eco_error *err) {
    char base[64];
    snprintf(base, sizeof base, "http://127.0.0.1:%u/", (unsigned)port);
    const eco_prefetch_query query = {.base = base,
                                      .params_b = 1.1,
                                      .arch = "RTX 4090",
                                      .precision = "NF4",
                                      .batch = 1,
                                      .timeout_ms = timeout_ms};
    *err = (eco_error){0};
    return eco_prefetch_ask(&query, answer, err);
}

/* A machine without libcurl: the one thing to say, and the test ends there. */
static bool no_libcurl(eco_status status, const eco_error *err) {
    if (status != ECO_E_UNSUPPORTED) {
        return false;
    }
    assert_string_equal(err->message, "libcurl is not on this machine");
    print_message("no libcurl here: the exchange is not tested\n");
    return true;
}

static void address(void **state) {
    (void)state;
    const eco_prefetch_query query = {.base = "https://api.example/",
                                      .params_b = 0.11,
                                      .arch = "a&b=c d",
                                      .precision = "INT8",
                                      .batch = 32};
    eco_text url = {0};
    eco_prefetch_url(&query, &url);
    assert_string_equal(url.data, "https://api.example/v1/estimate?params_b=0.11&arch=a%26b%3Dc%20d"
                                  "&precision=INT8&batch=32");
    eco_text_free(&url);
}

static void answers(void **state) {
    (void)state;
    eco_prefetch_answer answer;
    eco_error err = {0};
    static const char good[] = "{\"delta_pct\": -28.5, \"basis\": \"measured\", \"more\": [1]}";
    ASSERT_OK(eco_prefetch_read(good, strlen(good), &answer, &err), &err);
    ASSERT_NEAR(answer.delta_pct, -28.5, 0.0);
    assert_string_equal(answer.basis, "measured");
    static const char refused[] = "{\"error\": \"no curve\"}";
    assert_int_equal(eco_prefetch_read(refused, strlen(refused), &answer, &err), ECO_E_NOT_FOUND);
    assert_string_equal(err.message, "no curve");
    static const char *const bad[] = {"", "[]", "{\"delta_pct\": \"-28\"}", "<html>", "{}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(eco_prefetch_read(bad[i], strlen(bad[i]), &answer, &err), ECO_E_PARSE);
    }
}

static void exchange(void **state) {
    (void)state;
    server s = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 40\r\nConnection: close\r\n\r\n"
                          "{\"delta_pct\": 31.6, \"basis\": \"measured\"}"};
    eco_prefetch_answer answer;
    eco_error err;
    server_start(&s);
    const eco_status status = ask(s.port, 5000, &answer, &err);
    server_stop(&s);
    if (no_libcurl(status, &err)) {
        return;
    }
    ASSERT_OK(status, &err);
    ASSERT_NEAR(answer.delta_pct, 31.6, 0.0);
    assert_string_equal(answer.basis, "measured");
    static const char line[] = "GET /v1/estimate?params_b=1.1&arch=RTX%204090&precision=NF4&batch=1"
                               " HTTP/1.1\r\n";
    assert_memory_equal(s.request, line, sizeof line - 1);
    assert_non_null(strstr(s.request, "User-Agent: ecocompute-mlcube/1.0 ("));
    assert_non_null(strstr(s.request, "Accept: application/json\r\n"));
}

static void exchange_fails(void **state) {
    (void)state;
    static const struct {
        const char *answer;
        size_t filler;
        eco_status status;
        const char *message; /* NULL: libcurl's words */
    } rows[] = {
        {"HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\nno", 0, ECO_E_IO, "HTTP status 500"},
        {"HTTP/1.1 302 Moved\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n", 0,
         ECO_E_IO, "HTTP status 302"},
        {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{", 2 * ECO_PREFETCH_BYTES_MAX, ECO_E_RANGE,
         "the answer is longer than 65536 bytes"},
        {NULL, 0, ECO_E_TIMEOUT, NULL}, /* never answers */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        server s = {.answer = rows[i].answer, .filler = rows[i].filler};
        eco_prefetch_answer answer;
        eco_error err;
        server_start(&s);
        const eco_status status = ask(s.port, rows[i].answer == NULL ? 300 : 5000, &answer, &err);
        server_stop(&s);
        if (no_libcurl(status, &err)) {
            return;
        }
        assert_int_equal(status, rows[i].status);
        assert_true(err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
        if (rows[i].message != NULL) {
            assert_string_equal(err.message, rows[i].message);
        }
    }
}

static void dead_port(void **state) {
    (void)state;
    server s = {.answer = ""};
    eco_prefetch_answer answer;
    eco_error err;
    server_start(&s);
    const uint16_t port = s.port;
    server_stop(&s); /* nobody listens there now */
    const eco_status status = ask(port, 500, &answer, &err);
    if (no_libcurl(status, &err)) {
        return;
    }
    assert_int_equal(status, ECO_E_IO);
    assert_true(err.message[0] != '\0');
}

static void other_schemes(void **state) {
    (void)state;
    const eco_prefetch_query query = {.base = "file:///etc",
                                      .params_b = 1,
                                      .arch = "",
                                      .precision = "NF4",
                                      .batch = 1,
                                      .timeout_ms = 500};
    eco_prefetch_answer answer;
    eco_error err = {0};
    assert_int_equal(eco_prefetch_ask(&query, &answer, &err), ECO_E_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address),   cmocka_unit_test(answers),
        cmocka_unit_test(exchange),  cmocka_unit_test(exchange_fails),
        cmocka_unit_test(dead_port), cmocka_unit_test(other_schemes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

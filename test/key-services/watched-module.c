/*
 * A PKCS #11 module that passes each call on to the real one (MODULE) and writes the calls that tests look at into a file (CALLS).
 * REFUSES_LOCKING: as a module that cannot lock. Compiled by watched-module.ts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* CK_FUNCTION_LIST (PKCS #11 2.40): a version, and pointers in the order of the standard. */
typedef struct { unsigned char version[2]; void *of[68]; } functions;
enum { initialize = 0, login = 18, sign = 43 };
typedef struct { void *callbacks[4]; unsigned long flags; void *reserved; } initialize_args;
typedef unsigned long result;

static functions *real;
static functions watched;

static void note(const char *line) {
  FILE *file = fopen(CALLS, "a");
  fprintf(file, "%s\n", line);
  fclose(file);
}

static void copy_environment(const char *name, const char *path) {
  static char bytes[131072];
  FILE *from = fopen(path, "r");
  if (!from) { note(name); note("unreadable"); return; }
  size_t length = fread(bytes, 1, sizeof bytes - 1, from);
  fclose(from);
  for (size_t i = 0; i < length; i += strlen(bytes + i) + 1) {
    char line[4200];
    snprintf(line, sizeof line, "%s %.4000s", name, bytes + i);
    note(line);
  }
}

static result watched_initialize(initialize_args *args) {
  char parent[64];
  char user[64];
#ifdef REFUSES_LOCKING
  if (args && (args->flags & 2)) return 0xA; /* CKR_CANT_LOCK */
#endif
  note(args && (args->flags & 2) ? "initialize with locks" : "initialize without locks");
  snprintf(user, sizeof user, "user %d", getuid());
  note(user);
  copy_environment("own", "/proc/self/environ");
  snprintf(parent, sizeof parent, "/proc/%d/environ", getppid());
  copy_environment("parent", parent);
  return ((result(*)(void *))real->of[initialize])(args);
}

static result watched_login(unsigned long session, unsigned long user, unsigned char *pin, unsigned long length) {
  note("login");
  return ((result(*)(unsigned long, unsigned long, unsigned char *, unsigned long))real->of[login])(session, user, pin, length);
}

static result watched_sign(unsigned long session, unsigned char *data, unsigned long length, unsigned char *out, unsigned long *out_length) {
  note(syscall(SYS_gettid) == getpid() ? "sign in the main thread" : "sign in a thread");
  return ((result(*)(unsigned long, void *, unsigned long, void *, void *))real->of[sign])(session, data, length, out, out_length);
}

result C_GetFunctionList(functions **list) {
  void *module = dlopen(MODULE, RTLD_NOW);
  result answer = ((result(*)(functions **))dlsym(module, "C_GetFunctionList"))(&real);
  watched = *real;
  watched.of[initialize] = watched_initialize;
  watched.of[login] = watched_login;
  watched.of[sign] = watched_sign;
  *list = &watched;
  return answer;
}

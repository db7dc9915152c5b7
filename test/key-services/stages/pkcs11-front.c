/*
 * A PKCS #11 module in front of another one (FRONT_MODULE), which misbehaves as the file FRONT_TROUBLE says:
 *   delay MS | per_second N | garbage | other_key | high_s | stopped     (empty: nothing)
 * Everything but C_SignInit and C_Sign is the other module's own.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "pkcs11/pkcs11.h"

/* The order of secp256k1 (SEC 2, section 2.4.1). */
static const unsigned char order[32] = {
  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
  0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41};

static CK_FUNCTION_LIST front;
static CK_FUNCTION_LIST_PTR behind;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The number after the word; -1: the file says something else. */
static int trouble(const char *word) {
  char text[64] = "";
  const char *path = getenv("FRONT_TROUBLE");
  FILE *file = path ? fopen(path, "r") : NULL;
  if (!file) return -1;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = 0;
  return strncmp(text, word, strlen(word)) == 0 ? atoi(text + strlen(word)) : -1;
}

static int is_over(int per_second) {
  static time_t second;
  static int in_second;
  pthread_mutex_lock(&lock);
  time_t now = time(NULL);
  if (now != second) in_second = 0;
  second = now;
  int over = ++in_second > per_second;
  pthread_mutex_unlock(&lock);
  return over;
}

/* s becomes the order minus s, unless it is high already: then its first bit is set. */
static void raise(unsigned char *s) {
  if (s[0] & 0x80) return;
  int borrow = 0;
  for (int at = 31; at >= 0; at--) {
    int digit = order[at] - s[at] - borrow;
    borrow = digit < 0;
    s[at] = (unsigned char)(digit + (borrow ? 256 : 0));
  }
}

static CK_RV sign_init(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_OBJECT_HANDLE key) {
  if (trouble("other_key") >= 0) {
    CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
    CK_ATTRIBUTE wanted[] = {{CKA_CLASS, &class, sizeof class}, {CKA_LABEL, "other", 5}};
    CK_OBJECT_HANDLE other;
    CK_ULONG found = 0;
    if (behind->C_FindObjectsInit(session, wanted, 2) == CKR_OK) {
      behind->C_FindObjects(session, &other, 1, &found);
      behind->C_FindObjectsFinal(session);
    }
    if (found == 1) key = other;
  }
  return behind->C_SignInit(session, mechanism, key);
}

static CK_RV sign(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG data_length, CK_BYTE_PTR signature, CK_ULONG_PTR length) {
  int delay_ms = trouble("delay");
  int per_second = trouble("per_second");
  if (delay_ms > 0) usleep(delay_ms * 1000);
  /* This ends the operation in any case. */
  CK_RV result = behind->C_Sign(session, data, data_length, signature, length);
  if (result != CKR_OK || signature == NULL) return result;
  if (trouble("stopped") >= 0) return CKR_DEVICE_REMOVED;
  /* The answer of AWS CloudHSM to more requests than it can process. */
  if (per_second > 0 && is_over(per_second)) return CKR_FUNCTION_FAILED;
  if (trouble("garbage") >= 0 && getrandom(signature, *length, 0) < 0) return CKR_GENERAL_ERROR;
  if (trouble("high_s") >= 0) raise(signature + 32);
  return CKR_OK;
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR list) {
  const char *path = getenv("FRONT_MODULE");
  void *module = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  CK_RV (*get)(CK_FUNCTION_LIST_PTR_PTR) = module ? (CK_RV (*)(CK_FUNCTION_LIST_PTR_PTR))dlsym(module, "C_GetFunctionList") : NULL;
  if (!get || get(&behind) != CKR_OK) return CKR_GENERAL_ERROR;
  front = *behind;
  front.C_GetFunctionList = C_GetFunctionList;
  front.C_SignInit = sign_init;
  front.C_Sign = sign;
  *list = &front;
  return CKR_OK;
}

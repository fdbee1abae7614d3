/* Makes ns-2 write its doubles in full: every "%g" becomes "%.17g".
   gcc -O1 -U_FORTIFY_SOURCE -fno-builtin -shared -fPIC -o full_precision.so full_precision.c
   LD_PRELOAD=./full_precision.so ns ... */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *full(const char *format) {
    return strcmp(format, "%g") == 0 ? "%.17g" : format;
}

int sprintf(char *to, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int n = vsprintf(to, full(format), values);
    va_end(values);
    return n;
}

int snprintf(char *to, size_t size, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int n = vsnprintf(to, size, full(format), values);
    va_end(values);
    return n;
}

/* What the two become in a program built with _FORTIFY_SOURCE. */
int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...) {
    (void)flag;
    va_list values;
    va_start(values, format);
    int n = vsnprintf(to, room, full(format), values);
    va_end(values);
    return n;
}

int __snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, ...) {
    (void)flag;
    (void)room;
    va_list values;
    va_start(values, format);
    int n = vsnprintf(to, size, full(format), values);
    va_end(values);
    return n;
}

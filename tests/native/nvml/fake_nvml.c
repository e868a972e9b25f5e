/* A FAKE libnvidia-ml.so.1 for the tests: it exports NVML's symbols and answers from a script. No GPU is involved.
 *
 * The script is plain text, one fact a line; FAKE_NVML_SCRIPT names the file, or fake_nvml_load() reads it.
 *
 *   driver 590.48.01            version that nvmlSystemGetDriverVersion tells
 *   init CODE                   what nvmlInitWithFlags returns
 *   gpus N                      how many devices there are
 *   at SECONDS                  what follows holds from this time on (0 before the first such line)
 *   gpu I NAME VALUE            a fact of device I:
 *     text:   uuid TEXT · name TEXT
 *     calls:  FUNCTION.ARGUMENT VALUE, e.g. clock.1 345 · memory.used 20780000000 (names below)
 *     fields: field.ID[.SCOPE] TYPE VALUE, TYPE one of double uint ulong ull sll int ushort; `fails CODE`
 *     error:  lost CODE (every call of the device returns it; 0: it is back) · fail.NAME CODE
 *     limit:  most_fields N: a call for more field values fails as a whole
 *     growth: grow.NAME PER_SECOND adds that much a second to the fact NAME, from its own line on
 *     gpm:    gpm.METRIC VALUE: the value that nvmlGpmMetricsGet gives; cycles 248 to 256 as facts that grow
 *     proc:   process PID BYTES SM_PERCENT [INSTANCE] · clear_processes
 *     mig:    instance NUMBER UUID (gpuInstanceId, one compute instance) · mig_memory.NUMBER.used VALUE …
 *   xid I NUMBER                an XID event of device I at this time
 *
 * Time stands still until fake_nvml_set_time(seconds); with FAKE_NVML_CLOCK=real it is the real one.
 * A fact that the script does not give is NVML_ERROR_NOT_SUPPORTED.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define SUCCESS 0
#define INVALID_ARGUMENT 2
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define INSUFFICIENT_SIZE 7
#define TIMEOUT 10
#define MOST_FACTS 16384
#define MOST_GPUS 16
#define MOST_FIELD 320
#define MOST_SCOPE 36

typedef unsigned int ret;

struct running { unsigned pid, sm, instance; double used; };
struct fact { /* one line: a later one with the same key and a time that has come replaces it */
    double at, value, growth;
    int gpu, type, failing;
    char key[40];
    char text[100];
    struct running process;
};
struct xid { double at; int gpu; unsigned long long number; int taken; };
struct device { int gpu, instance; char tag[8]; };

static struct fact facts[MOST_FACTS];
static int count_facts;
static struct xid xids[256];
static int count_xids;
static struct device devices[MOST_GPUS], parts[MOST_GPUS][8];
static int gpus, initialised;
static unsigned init_code;
static double now_s;
static char driver[64] = "0";
static unsigned long long calls;
static int registered[MOST_GPUS];

/* The newest fact of each key that holds now, indexed; rebuilt whenever the time moves past a line. */
static int table[32768];
static int field_table[MOST_GPUS][MOST_FIELD][MOST_SCOPE];
static int gpm_table[MOST_GPUS][MOST_FIELD]; /* of whole cards */
static double table_from = -1, table_until = -2;
static ret lost_code[MOST_GPUS];
static int any_failing; /* the script has fail.NAME lines */

static double clock_s(void) {
    static int real = -1;
    if (real < 0) { const char *mode = getenv("FAKE_NVML_CLOCK"); real = mode && !strcmp(mode, "real"); }
    if (!real) return now_s;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static unsigned hash(int gpu, const char *key) {
    unsigned h = 2166136261u ^ (unsigned)(gpu * 7919);
    for (; *key; key++) h = (h ^ (unsigned char)*key) * 16777619u;
    return h & 32767u;
}

static void rebuild(double now) {
    memset(table, 0xff, sizeof table);
    memset(field_table, 0xff, sizeof field_table);
    memset(gpm_table, 0xff, sizeof gpm_table);
    memset(lost_code, 0, sizeof lost_code);
    table_from = now; table_until = 1e300;
    for (int i = 0; i < count_facts; i++) {
        if (facts[i].at > now) { if (facts[i].at < table_until) table_until = facts[i].at; continue; }
        unsigned h = hash(facts[i].gpu, facts[i].key);
        while (table[h] >= 0 && (facts[table[h]].gpu != facts[i].gpu || strcmp(facts[table[h]].key, facts[i].key)))
            h = (h + 1) & 32767u;
        table[h] = i; /* lines stand in the order of their times */
        unsigned field, scope = 0;
        if (!strcmp(facts[i].key, "lost")) lost_code[facts[i].gpu] = (ret)facts[i].value;
        if (sscanf(facts[i].key, "field.%u.%u", &field, &scope) >= 1 && field < MOST_FIELD && scope < MOST_SCOPE)
            field_table[facts[i].gpu][field][scope] = i;
        if (sscanf(facts[i].key, "gpm.%u.%u", &field, &scope) == 1 && field < MOST_FIELD)
            gpm_table[facts[i].gpu][field] = i;
    }
}

static double settle(void) { /* the time, with the table of what holds then */
    double now = clock_s();
    if (now < table_from || now >= table_until) rebuild(now);
    return now;
}

static struct fact *look(int gpu, const char *key) {
    for (unsigned h = hash(gpu, key); table[h] >= 0; h = (h + 1) & 32767u) {
        struct fact *f = &facts[table[h]];
        if (f->gpu == gpu && !strcmp(f->key, key)) return f->type == -1 ? NULL : f;
    }
    return NULL;
}

static struct fact *find(int gpu, const char *key) {
    settle();
    return look(gpu, key);
}

static ret number(int gpu, const char *key, double *out) {
    char fail[48];
    double now = settle();
    calls++;
    if (!initialised) return 1;
    if (lost_code[gpu]) return lost_code[gpu];
    if (any_failing) {
        snprintf(fail, sizeof fail, "fail.%s", key);
        struct fact *failing = look(gpu, fail);
        if (failing && failing->value) return (ret)failing->value;
    }
    struct fact *f = look(gpu, key);
    if (!f) return NOT_SUPPORTED;
    *out = f->growth == 0 ? f->value : f->value + f->growth * (now - f->at);
    return SUCCESS;
}

/* -- the script ------------------------------------------------------------------------------------------------ */

static int type_named(const char *name) {
    static const char *names[] = {"double", "uint", "ulong", "ull", "sll", "int", "ushort"};
    for (int i = 0; i < 7; i++) if (!strcmp(name, names[i])) return i;
    return 1;
}

static struct fact *add(double at, int gpu, const char *key) {
    if (count_facts == MOST_FACTS) { fprintf(stderr, "fake_nvml: too many facts\n"); abort(); }
    struct fact *f = &facts[count_facts++];
    memset(f, 0, sizeof *f);
    f->at = at; f->gpu = gpu; f->type = 1;
    snprintf(f->key, sizeof f->key, "%s", key);
    return f;
}

static void gpu_line(double at, int gpu, char *key, char *rest) {
    char word[40];
    double value = 0;
    if (!strncmp(key, "grow.", 5)) { /* the fact as it stands, growing from here on */
        struct fact *before = NULL;
        for (int i = 0; i < count_facts; i++)
            if (facts[i].gpu == gpu && !strcmp(facts[i].key, key + 5)) before = &facts[i];
        if (!before) { fprintf(stderr, "fake_nvml: %s before the fact itself\n", key); abort(); }
        struct fact *f = add(at, gpu, key + 5);
        f->type = before->type;
        f->value = before->value + before->growth * (at - before->at);
        f->growth = atof(rest);
        return;
    }
    if (!strcmp(key, "uuid") || !strcmp(key, "name")) {
        snprintf(add(at, gpu, key)->text, 100, "%s", rest);
        return;
    }
    if (!strncmp(key, "field.", 6) && sscanf(rest, "%39s %lf", word, &value) == 2) {
        struct fact *f = add(at, gpu, key);
        f->type = type_named(word); f->value = value;
        if (!strcmp(word, "fails")) f->failing = (int)value;
        return;
    }
    if (!strcmp(key, "process") || !strcmp(key, "instance")) { /* several of one key: numbered */
        char numbered[40];
        int n = 0;
        size_t length = strlen(key);
        for (int i = 0; i < count_facts; i++)
            n += facts[i].gpu == gpu && !strncmp(facts[i].key, key, length) && facts[i].key[length] == '.';
        snprintf(numbered, sizeof numbered, "%s.%d", key, n);
        struct fact *f = add(at, gpu, numbered);
        snprintf(f->text, sizeof f->text, "%s", rest);
        f->process.instance = 0xffffffffu;
        sscanf(rest, "%u %lf %u %u", &f->process.pid, &f->process.used, &f->process.sm, &f->process.instance);
        return;
    }
    if (!strncmp(key, "fail.", 5)) any_failing = 1;
    if (!strcmp(rest, "absent")) { add(at, gpu, key)->type = -1; return; }
    add(at, gpu, key)->value = atof(rest);
}

EXPORT int fake_nvml_load(const char *path) {
    FILE *file = fopen(path, "r");
    char line[256], key[40], rest[160];
    double at = 0;
    int gpu;
    if (!file) return -1;
    count_facts = count_xids = gpus = initialised = any_failing = 0;
    init_code = 0; now_s = 0; calls = 0; table_from = -1; table_until = -2;
    memset(registered, 0, sizeof registered);
    while (fgets(line, sizeof line, file)) {
        unsigned long long number_of;
        line[strcspn(line, "\n")] = 0;
        rest[0] = 0;
        if (line[0] == '#' || !line[0]) continue;
        if (sscanf(line, "at %lf", &at) == 1) continue;
        if (sscanf(line, "init %u", &init_code) == 1) continue;
        if (sscanf(line, "gpus %d", &gpus) == 1) continue;
        if (sscanf(line, "driver %63s", driver) == 1) continue;
        if (sscanf(line, "xid %d %llu", &gpu, &number_of) == 2) {
            if (count_xids < 256) xids[count_xids++] = (struct xid){at, gpu, number_of, 0};
            continue;
        }
        if (sscanf(line, "gpu %d %39s %159[^\n]", &gpu, key, rest) >= 2) { gpu_line(at, gpu, key, rest); continue; }
        fprintf(stderr, "fake_nvml: cannot read: %s\n", line);
        fclose(file);
        return -2;
    }
    fclose(file);
    for (int i = 0; i < MOST_GPUS; i++) {
        devices[i] = (struct device){i, -1, "gpu"};
        for (int part = 0; part < 8; part++) parts[i][part] = (struct device){i, part, "mig"};
    }
    return 0;
}

EXPORT void fake_nvml_set_time(double seconds) { now_s = seconds; }
EXPORT unsigned long long fake_nvml_calls(void) { return calls; }

/* -- the library ----------------------------------------------------------------------------------------------- */

EXPORT ret nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    const char *path = getenv("FAKE_NVML_SCRIPT");
    if (!count_facts && !gpus && path && fake_nvml_load(path) != 0) return 999;
    if (init_code) return init_code;
    initialised = 1;
    return SUCCESS;
}
EXPORT ret nvmlShutdown(void) { initialised = 0; return SUCCESS; }
EXPORT const char *nvmlErrorString(ret code) { (void)code; return "an error of the fake NVML"; }
EXPORT ret nvmlSystemGetDriverVersion(char *out, unsigned length) { snprintf(out, length, "%s", driver); return SUCCESS; }
EXPORT ret nvmlDeviceGetCount_v2(unsigned *out) { *out = (unsigned)gpus; return SUCCESS; }

EXPORT ret nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **out) {
    double code = 0;
    if ((int)index >= gpus) return INVALID_ARGUMENT;
    ret lost = number((int)index, "open", &code);
    if (lost != SUCCESS && lost != NOT_SUPPORTED) return lost;
    if (lost == SUCCESS && code) return (ret)code;
    *out = &devices[index];
    return SUCCESS;
}

static ret text(struct device *d, const char *key, char *out, unsigned length) {
    settle();
    if (lost_code[d->gpu]) return lost_code[d->gpu];
    if (d->instance >= 0) {
        char numbered[40], uuid[100];
        int id;
        snprintf(numbered, sizeof numbered, "instance.%d", d->instance);
        struct fact *f = find(d->gpu, numbered);
        if (!f || sscanf(f->text, "%d %99s", &id, uuid) != 2) return NOT_FOUND;
        snprintf(out, length, "%s", uuid);
        return SUCCESS;
    }
    struct fact *f = find(d->gpu, key);
    if (!f) return NOT_SUPPORTED;
    snprintf(out, length, "%s", f->text);
    return SUCCESS;
}
EXPORT ret nvmlDeviceGetUUID(struct device *d, char *out, unsigned n) { return text(d, "uuid", out, n); }
EXPORT ret nvmlDeviceGetName(struct device *d, char *out, unsigned n) { return text(d, "name", out, n); }

static ret plain(struct device *d, const char *key, unsigned *out) {
    double v = 0;
    if (d->instance >= 0) return INVALID_ARGUMENT; /* as NVML: not of a MIG handle */
    ret code = number(d->gpu, key, &v);
    if (code == SUCCESS) *out = (unsigned)v;
    return code;
}
static ret wide(struct device *d, const char *key, unsigned long long *out) {
    double v = 0;
    ret code = number(d->gpu, key, &v);
    if (code == SUCCESS) *out = (unsigned long long)v;
    return code;
}
static ret one(struct device *d, const char *name, unsigned which, unsigned *out) {
    char key[40];
    snprintf(key, sizeof key, "%s.%u", name, which);
    return plain(d, key, out);
}

EXPORT ret nvmlDeviceGetClockInfo(struct device *d, unsigned type, unsigned *out) { return one(d, "clock", type, out); }
EXPORT ret nvmlDeviceGetMaxClockInfo(struct device *d, unsigned type, unsigned *out) { return one(d, "max_clock", type, out); }
EXPORT ret nvmlDeviceGetPowerUsage(struct device *d, unsigned *out) { return plain(d, "power_mw", out); }
EXPORT ret nvmlDeviceGetEnforcedPowerLimit(struct device *d, unsigned *out) { return plain(d, "power_limit_mw", out); }
EXPORT ret nvmlDeviceGetTotalEnergyConsumption(struct device *d, unsigned long long *out) { return wide(d, "energy_mj", out); }
EXPORT ret nvmlDeviceGetTemperature(struct device *d, unsigned sensor, unsigned *out) { return one(d, "temperature", sensor, out); }
struct temperature { unsigned version, sensor; int value; };
EXPORT ret nvmlDeviceGetTemperatureV(struct device *d, struct temperature *t) {
    unsigned v = 0;
    if (t->version != 0x100000Cu) return 25;
    ret code = one(d, "temperature", t->sensor, &v);
    if (code == SUCCESS) t->value = (int)v;
    return code;
}
EXPORT ret nvmlDeviceGetCurrentClocksEventReasons(struct device *d, unsigned long long *out) { return wide(d, "reasons", out); }
EXPORT ret nvmlDeviceGetCurrPcieLinkGeneration(struct device *d, unsigned *out) { return plain(d, "pcie_gen", out); }
EXPORT ret nvmlDeviceGetCurrPcieLinkWidth(struct device *d, unsigned *out) { return plain(d, "pcie_width", out); }
EXPORT ret nvmlDeviceGetMaxPcieLinkGeneration(struct device *d, unsigned *out) { return plain(d, "pcie_gen_max", out); }
EXPORT ret nvmlDeviceGetMaxPcieLinkWidth(struct device *d, unsigned *out) { return plain(d, "pcie_width_max", out); }
EXPORT ret nvmlDeviceGetPcieReplayCounter(struct device *d, unsigned *out) { return plain(d, "replays", out); }
EXPORT ret nvmlDeviceGetPcieThroughput(struct device *d, unsigned which, unsigned *out) { return one(d, "pcie_kb_s", which, out); }
EXPORT ret nvmlDeviceGetTotalEccErrors(struct device *d, unsigned kind, unsigned counter, unsigned long long *out) {
    char key[40];
    snprintf(key, sizeof key, "ecc.%u.%u", kind, counter);
    return wide(d, key, out);
}
struct utilization { unsigned gpu, memory; };
EXPORT ret nvmlDeviceGetUtilizationRates(struct device *d, struct utilization *out) {
    ret code = plain(d, "use.gpu", &out->gpu);
    return code ? code : plain(d, "use.memory", &out->memory);
}
struct memory2 { unsigned version; unsigned long long total, reserved, free, used; };
EXPORT ret nvmlDeviceGetMemoryInfo_v2(struct device *d, struct memory2 *out) {
    char key[40];
    double v[4] = {0, 0, 0, 0};
    const char *names[4] = {"total", "reserved", "free", "used"};
    if (out->version != 0x02000028u) return 25;
    for (int i = 0; i < 4; i++) {
        if (d->instance < 0) snprintf(key, sizeof key, "memory.%s", names[i]);
        else snprintf(key, sizeof key, "mig_memory.%d.%s", d->instance, names[i]);
        ret code = number(d->gpu, key, &v[i]);
        if (code && (i == 0 || i == 3)) return code;
    }
    out->total = (unsigned long long)v[0]; out->reserved = (unsigned long long)v[1];
    out->free = (unsigned long long)v[2]; out->used = (unsigned long long)v[3];
    return SUCCESS;
}

struct field_value { unsigned field, scope; long long timestamp, latency; unsigned type, code; uint64_t value; };
EXPORT ret nvmlDeviceGetFieldValues(struct device *d, int n, struct field_value *values) {
    double now = settle();
    calls++;
    if (lost_code[d->gpu]) return lost_code[d->gpu];
    if (!initialised) return 1;
    struct fact *most = look(d->gpu, "most_fields");
    if (most && n > most->value) return INVALID_ARGUMENT;
    for (int i = 0; i < n; i++) {
        struct field_value *f = &values[i];
        int at = f->field < MOST_FIELD && f->scope < MOST_SCOPE ? field_table[d->gpu][f->field][f->scope] : -1;
        struct fact *known = at < 0 || facts[at].type == -1 ? NULL : &facts[at];
        f->timestamp = (long long)(now * 1e6);
        f->code = known ? SUCCESS : NOT_SUPPORTED;
        if (!known) continue;
        double v = known->growth == 0 ? known->value : known->value + known->growth * (now - known->at);
        if (known->failing) { f->code = (unsigned)known->failing; continue; }
        f->type = (unsigned)known->type;
        f->value = 0xA5A5A5A5A5A5A5A5ull; /* the part of the union that the type does not cover is rubbish */
        switch (f->type) {
        case 0: memcpy(&f->value, &v, 8); break;
        case 1: { unsigned u = (unsigned)(unsigned long long)v; memcpy(&f->value, &u, 4); break; }
        case 4: { long long s = (long long)v; memcpy(&f->value, &s, 8); break; }
        case 5: { int s = (int)v; memcpy(&f->value, &s, 4); break; }
        case 6: { unsigned short s = (unsigned short)v; memcpy(&f->value, &s, 2); break; }
        default: f->value = (uint64_t)v;
        }
    }
    return SUCCESS;
}

EXPORT ret nvmlDeviceGetNvLinkState(struct device *d, unsigned link, unsigned *out) { return one(d, "link_state", link, out); }
EXPORT ret nvmlDeviceGetNvLinkVersion(struct device *d, unsigned link, unsigned *out) { return one(d, "link_version", link, out); }

/* -- GPM --------------------------------------------------------------------------------------------------------- */

struct sample { double at; int gpu, instance; };
struct gpm_metric { unsigned metric, code; double value; const char *names[3]; };
struct gpm_get { unsigned version, n; struct sample *first, *second; struct gpm_metric metrics[477]; };
struct gpm_support { unsigned version, supported; };

EXPORT ret nvmlGpmQueryDeviceSupport(struct device *d, struct gpm_support *s) {
    double v = 0;
    ret code = number(d->gpu, "gpm", &v);
    s->supported = code == SUCCESS && v;
    return code == NOT_SUPPORTED ? SUCCESS : code;
}
EXPORT ret nvmlGpmSampleAlloc(struct sample **out) { return (*out = calloc(1, sizeof **out)) ? SUCCESS : 20; }
EXPORT ret nvmlGpmSampleFree(struct sample *s) { free(s); return SUCCESS; }
EXPORT ret nvmlGpmSampleGet(struct device *d, struct sample *s) {
    double v = 0;
    ret code = number(d->gpu, "gpm", &v);
    if (code) return code;
    *s = (struct sample){clock_s(), d->gpu, -1};
    return SUCCESS;
}
EXPORT ret nvmlGpmMigSampleGet(struct device *d, unsigned instance, struct sample *s) {
    double v = 0;
    ret code = number(d->gpu, "gpm", &v);
    if (code) return code;
    *s = (struct sample){clock_s(), d->gpu, (int)instance};
    return SUCCESS;
}
EXPORT ret nvmlGpmMetricsGet(struct gpm_get *get) {
    calls++;
    if (get->version != 1) return 25;
    double now = settle(), apart = get->second->at - get->first->at;
    if (lost_code[get->second->gpu]) return lost_code[get->second->gpu];
    for (unsigned i = 0; i < get->n; i++) {
        struct gpm_metric *m = &get->metrics[i];
        char key[40];
        if (get->second->instance < 0) {
            int at = m->metric < MOST_FIELD ? gpm_table[get->second->gpu][m->metric] : -1;
            struct fact *f = at < 0 ? NULL : &facts[at];
            m->code = f ? SUCCESS : NOT_SUPPORTED;
            if (f) m->value = f->growth == 0 ? f->value : f->value + f->growth * (now - f->at);
        } else {
            snprintf(key, sizeof key, "gpm.%u.%d", m->metric, get->second->instance);
            m->code = number(get->second->gpu, key, &m->value);
            calls--;
        }
        if (m->metric < 200 && apart < 0.1 - 1e-9) { m->code = 27; continue; } /* not ready: too close */
    }
    return SUCCESS;
}

/* -- events, processes, MIG ----------------------------------------------------------------------------------- */

struct event { struct device *device; unsigned long long type, data; unsigned instance, compute; };
static int an_event_set;
EXPORT ret nvmlEventSetCreate(int **out) { *out = &an_event_set; return SUCCESS; }
EXPORT ret nvmlEventSetFree(int *set) { (void)set; memset(registered, 0, sizeof registered); return SUCCESS; }
EXPORT ret nvmlDeviceGetSupportedEventTypes(struct device *d, unsigned long long *out) {
    ret code = wide(d, "events", out);
    if (code == NOT_SUPPORTED) { *out = 8; return SUCCESS; }
    return code;
}
EXPORT ret nvmlDeviceRegisterEvents(struct device *d, unsigned long long types, int *set) {
    double v = 0;
    (void)types; (void)set;
    ret code = number(d->gpu, "register", &v);
    if (code != NOT_SUPPORTED) return code ? code : (ret)v;
    registered[d->gpu] = 1;
    return SUCCESS;
}
EXPORT ret nvmlEventSetWait_v2(int *set, struct event *out, unsigned timeout) {
    (void)set; (void)timeout;
    calls++;
    for (int i = 0; i < count_xids; i++) {
        if (xids[i].taken || xids[i].at > clock_s() || !registered[xids[i].gpu]) continue;
        xids[i].taken = 1;
        *out = (struct event){&devices[xids[i].gpu], 8, xids[i].number, 0xffffffffu, 0xffffffffu};
        return SUCCESS;
    }
    return TIMEOUT;
}

struct process { unsigned pid; unsigned long long used; unsigned instance, compute; };
struct use { unsigned pid; unsigned long long time; unsigned sm, mem, enc, dec; };

static struct running *process_at(int gpu, int n) {
    char key[40];
    snprintf(key, sizeof key, "process.%d", n);
    struct fact *f = find(gpu, key);
    return f ? &f->process : NULL;
}
EXPORT ret nvmlDeviceGetComputeRunningProcesses_v3(struct device *d, unsigned *n, struct process *out) {
    unsigned room = *n, found = 0;
    double v = 0;
    ret code = number(d->gpu, "processes", &v);
    if (code) return code;
    for (int i = 0; i < (int)v; i++) {
        struct running *p = process_at(d->gpu, i);
        if (!p) continue;
        if (found < room) out[found] = (struct process){p->pid, (unsigned long long)p->used, p->instance, 0xffffffffu};
        found++;
    }
    *n = found;
    return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}
EXPORT ret nvmlDeviceGetProcessUtilization(struct device *d, struct use *out, unsigned *n, unsigned long long since) {
    unsigned room = *n, found = 0;
    unsigned long long time = (unsigned long long)(clock_s() * 1e6) + 1;
    double v = 0;
    ret code = number(d->gpu, "processes", &v);
    if (code) return code;
    for (int i = 0; i < (int)v && time > since; i++) {
        struct running *p = process_at(d->gpu, i);
        if (!p || p->sm == 999) continue;
        if (found < room) out[found] = (struct use){p->pid, time, p->sm, 0, 0, 0};
        found++;
    }
    *n = found;
    return found > room ? INSUFFICIENT_SIZE : found ? SUCCESS : NOT_FOUND;
}

EXPORT ret nvmlDeviceGetMigMode(struct device *d, unsigned *now, unsigned *next) {
    ret code = plain(d, "mig", now);
    *next = *now;
    return code;
}
EXPORT ret nvmlDeviceGetMaxMigDeviceCount(struct device *d, unsigned *out) { (void)d; *out = 7; return SUCCESS; }
EXPORT ret nvmlDeviceGetMigDeviceHandleByIndex(struct device *d, unsigned index, struct device **out) {
    char key[40];
    snprintf(key, sizeof key, "instance.%u", index);
    if (!find(d->gpu, key)) return NOT_FOUND;
    *out = &parts[d->gpu][index];
    return SUCCESS;
}
EXPORT ret nvmlDeviceGetGpuInstanceId(struct device *d, unsigned *out) {
    char key[40];
    int id = 0;
    snprintf(key, sizeof key, "instance.%d", d->instance);
    struct fact *f = find(d->gpu, key);
    if (!f || sscanf(f->text, "%d", &id) != 1) return NOT_FOUND;
    *out = (unsigned)id;
    return SUCCESS;
}
EXPORT ret nvmlDeviceIsMigDeviceHandle(struct device *d, unsigned *out) { *out = d->instance >= 0; return SUCCESS; }

/* tilevm doctor: why do kernels not run here? */
#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/doctor/doctor.h"

enum { OPT_JSON = 1 };

static const cli_option options[] = {{OPT_JSON, 'J', "json", NULL, "print JSON"}, {0}};

static int run(cli_args *args);

const cli_command command_doctor = {
    "doctor",
    "",
    "find out why kernels do not run on the GPUs of this host",
    "tilevm doctor checks the driver and the newest PTX version that it accepts, the devices and whether\n"
    "this user may open them, the cache, and the CUDA toolkit if there is one; and it runs a kernel on\n"
    "each device through the loader. For each problem it prints the command that fixes it. It creates the\n"
    "cache folder if there is none.\n"
    "Exit codes: 0 there is no problem, 1 there is a problem, 2 wrong usage.",
    options,
    run};

static const char *state_name(doctor_state state)
{
    static const char *const names[] = {"fine", "note", "problem"};
    return names[state];
}

static void put_check(bc_text *text, const doctor_check *check, bool color)
{
    static const char *const marks[] = {"ok", "--", "!!"}, *const colors[] = {"\033[32m", "", "\033[31m"};
    bc_text_printf(text, "%s%s%s  %-11s  ", color ? colors[check->state] : "", marks[check->state],
                   color && colors[check->state][0] ? "\033[0m" : "", check->name);
    bc_text_str(text, check->text);
    if (check->fix.len)
        bc_text_printf(text, "\n                 fix: %.*s", (int)check->fix.len, check->fix.ptr);
    bc_text_char(text, '\n');
}

static bool write_text(const doctor *d, bool color, cli_out *out)
{
    bc_text text;
    bc_text_init(&text, NULL);
    for (size_t i = 0; i < d->count; i++)
        put_check(&text, &d->checks[i], color);
    if (d->problems)
        bc_text_printf(&text, "%zu problem%s\n", d->problems, d->problems == 1 ? "" : "s");
    else
        bc_text_puts(&text, "kernels run here\n");
    bool fine = !text.failed;
    cli_out_text(out, &text, color);
    return fine;
}

static bool write_json(const doctor *d, cli_out *out)
{
    json_doc doc = {0};
    cJSON *root = json_document(&doc, "doctor");
    json_text(&doc, root, "version", TV_VERSION);
    if (d->driver) {
        json_uint(&doc, root, "cuda", (uint64_t)d->driver->version);
        json_uint(&doc, root, "ptx", ld_ptx_version(d->driver->version));
    }
    json_uint(&doc, root, "problems", d->problems);
    cJSON *checks = json_array(&doc, root, "checks");
    for (size_t i = 0; i < d->count; i++) {
        const doctor_check *check = &d->checks[i];
        cJSON *item = json_object(&doc, checks, NULL);
        json_text(&doc, item, "name", check->name);
        json_text(&doc, item, "state", state_name(check->state));
        json_str(&doc, item, "text", check->text);
        if (check->fix.len)
            json_str(&doc, item, "fix", check->fix);
    }
    return json_finish(&doc, out);
}

/* Errors of the loader become checks, and are not reported otherwise. */
static void hear_nothing(void *user, int severity, const char *text)
{
    (void)user;
    (void)severity;
    (void)text;
}

static void look(doctor *d)
{
    tvSetMessageHandler(hear_nothing, NULL);
    doctor_look_at_driver(d);
    doctor_look_at_nodes(d, "/dev");
    doctor_look_at_devices(d);
    doctor_look_at_cache(d);
    doctor_look_at_tools(d);
    tvSetMessageHandler(NULL, NULL);
}

static int run(cli_args *args)
{
    doctor d = {0};
    cli_out out = {.file = stdout};
    const char *value;
    bool json = false;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        if (id == CLI_STOP)
            return args->exit_code;
        if (id == CLI_OPERAND)
            return cli_usage(args, "unexpected operand '%s'", value);
        json = true;
    }
    bc_arena_init(&d.arena, NULL, 0);
    look(&d);
    bool fine = !d.failed && (json ? write_json(&d, &out) : write_text(&d, cli_use_color(args->color, stdout), &out));
    bc_arena_release(&d.arena);
    if (!fine)
        return cli_error("out of memory");
    return d.problems ? CLI_FAILED : CLI_OK;
}

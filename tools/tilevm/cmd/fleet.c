/* tilevm fleet: checks whether the hosts of a fleet will run the kernels of a bundle. */
#include "tools/tilevm/bundle/bundle.h"
#include "tools/tilevm/fleet/fleet.h"

enum { OPT_FLEET = 1, OPT_KEY, OPT_FORMAT, OPT_JSON, OPT_OUTPUT };
enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_SARIF, FORMAT_JUNIT };

#define FORMATS "text|json|sarif|junit"
#define ACTIONS "check|gpus"
enum { CHECK, GPUS };

static const cli_option options[] = {{OPT_FLEET, 'F', "fleet", "FILE", "check: the fleet, a JSON file"},
                                     {OPT_KEY, 'k', "key", "FILE",
                                      "check: the bundle must be signed with the private half of this public key"},
                                     {OPT_FORMAT, 'f', "format", FORMATS, "check: form of the report (default text)"},
                                     {OPT_JSON, 'J', "json", NULL, "check: the same as --format json"},
                                     {OPT_OUTPUT, 'o', "output", "FILE", "check: write the report to FILE"},
                                     {0}};

static int run(cli_args *args);

const cli_command command_fleet = {
    "fleet",
    ACTIONS " [BUNDLE]",
    "check before a rollout which kernels of a bundle each host will run",
    "tilevm fleet needs no GPU.\n"
    "  check   prints the matrix of kernels and hosts, which are GPU models with driver versions: the artifact that\n"
    "          each host will run, its expected occupancy (<=: an upper bound, until the driver has assembled it),\n"
    "          and what keeps it from running. Exit codes: 0 all run, 1 not all run, 2 wrong usage or a file that\n"
    "          cannot be read.\n"
    "  gpus    lists the known models\n"
    "\n"
    "A fleet is a JSON file: {\"schema\": \"tilevm-fleet/1\", \"hosts\": [{\"name\": \"training\", \"gpu\": \"H100 "
    "SXM\",\n"
    "\"drivers\": [\"12.4\", \"580.65.06\"]}]}. Drivers are given by their own version or by CUDA's; sm_90 is any GPU "
    "of\n"
    "that compute capability.",
    options,
    run};

typedef struct fleet_request {
    const char *bundle, *fleet, *key, *output;
    unsigned format;
} fleet_request;

static bool write_form(const fleet_matrix *matrix, unsigned format, bool color, cli_out *out)
{
    switch (format) {
    case FORMAT_JSON: return fleet_write_json(matrix, out);
    case FORMAT_SARIF: return fleet_write_sarif(matrix, out);
    case FORMAT_JUNIT: return fleet_write_junit(matrix, out);
    default: return fleet_write_text(matrix, color, out);
    }
}

static int write_report(const fleet_request *request, const fleet_matrix *matrix, cli_when when)
{
    cli_out out;
    if (!cli_out_open(&out, request->output))
        return CLI_ERROR;
    if (!write_form(matrix, request->format, !request->output && cli_use_color(when, stdout), &out)) {
        cli_out_abort(&out);
        return cli_error("out of memory");
    }
    if (!cli_out_commit(&out))
        return CLI_ERROR;
    return matrix->failed ? CLI_FAILED : CLI_OK;
}

static int check_bundle(const fleet_request *request, const ld_bundle *bundle, bc_arena *arena, cli_when when)
{
    fleet_matrix matrix = {.bundle_path = request->bundle, .fleet_path = request->fleet};
    bc_text problem;
    bc_text_init(&problem, NULL);
    int code = CLI_OK;
    if (!fleet_read(request->fleet, arena, &matrix.fleet, &problem))
        code = cli_error("%s", bc_text_words(&problem));
    bc_text_release(&problem);
    const char *damage = code == CLI_OK ? fleet_judge(bundle, arena, &matrix) : NULL;
    if (damage)
        return bundle_say_damaged(request->bundle, "", damage);
    return code == CLI_OK ? write_report(request, &matrix, when) : code;
}

static int check(const fleet_request *request, cli_when when)
{
    ld_bundle bundle;
    bc_arena arena;
    int code = bundle_open_or_say(request->bundle, request->key, &bundle);
    if (code != CLI_OK)
        return request->format == FORMAT_JSON ? json_unopened("fleet", request->bundle, request->output, code) : code;
    bc_arena_init(&arena, NULL, 0);
    code = check_bundle(request, &bundle, &arena, when);
    bc_arena_release(&arena);
    ld_bundle_close(&bundle);
    return code;
}

static int list_gpus(const fleet_request *request)
{
    cli_out out;
    if (!cli_out_open(&out, request->output))
        return CLI_ERROR;
    if (!(request->format == FORMAT_JSON ? fleet_write_gpus_json(&out) : fleet_write_gpus(&out))) {
        cli_out_abort(&out);
        return cli_error("out of memory");
    }
    return cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
}

static bool take_option(cli_args *args, int id, const char *value, fleet_request *request)
{
    switch (id) {
    case OPT_FLEET: request->fleet = value; return true;
    case OPT_KEY: request->key = value; return true;
    case OPT_FORMAT: return cli_choice(args, "--format", value, FORMATS, &request->format);
    case OPT_JSON: request->format = FORMAT_JSON; return true;
    case OPT_OUTPUT: request->output = value; return true;
    default: return false; /* CLI_STOP */
    }
}

static int run(cli_args *args)
{
    fleet_request request = {0};
    const char *value, *given = NULL;
    unsigned action = CHECK;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        if (id == CLI_OPERAND && !given) {
            given = value;
            if (!cli_choice(args, "action", value, ACTIONS, &action))
                return args->exit_code;
        } else if (id == CLI_OPERAND && !request.bundle && action == CHECK) {
            request.bundle = value;
        } else if (id == CLI_OPERAND) {
            return cli_usage(args, "unexpected operand '%s'", value);
        } else if (!take_option(args, id, value, &request)) {
            return args->exit_code;
        }
    }
    if (!given)
        return cli_usage(args, "no action was given; the actions are " ACTIONS);
    if (action == GPUS && (request.format == FORMAT_SARIF || request.format == FORMAT_JUNIT))
        return cli_usage(args, "'gpus' prints text or JSON");
    if (action == GPUS)
        return list_gpus(&request);
    if (!request.bundle)
        return cli_usage(args, "which bundle?");
    return request.fleet ? check(&request, args->color) : cli_usage(args, "no fleet was given; use --fleet FILE");
}

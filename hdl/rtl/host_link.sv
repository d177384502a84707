// The link with the host: requests and their answers, and reports that no request asked for. It does one thing
// at a time: a request or a report begins when nothing else is in progress, in turns if both wait.
//
//   store ──► host_requests ──┐
//                             ├──► header, payload ──► host
//   events ──► host_reports ──┘
//
// Rules (formal/host_link_rules.sv, but for 3: simulated):
//   1 the rules of streams at the output;
//   2 a request and a report are never in progress together;
//   3 while `ready_i` is high, the beats of a frame are at most 8 cycles apart, so that a MAC at 1 Gb/s has no
//     hole.
module host_link
  import tare_pkg::*;
  import registers_pkg::*;
  import host_pkg::*;
(
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [31:0]      build_i,
    // From the store: for each frame a word with its bytes (with FCS) and its number of beats, then the beats.
    input  logic             word_valid_i,
    output logic             word_ready_o,
    input  logic [63:0]      word_i,
    // To the host, without FCS.
    output logic             valid_o,
    input  logic             ready_i,
    output beat_t            beat_o,
    // Registers. The data of an answer holds until the next.
    output register_ask_t    registers_o,
    input  register_answer_t registers_i,
    // Live frames, credits, marks.
    input  logic             live_i,
    input  logic             forgetting_i,
    output logic             live_valid_o,
    input  logic             live_ready_i,
    output live_t            live_o,
    output credit_ask_t      credits_o,
    input  credit_answer_t   credits_i,
    input  logic             grant_valid_i,
    output logic             grant_ready_o,
    input  credits_t         grant_i,
    output logic             mark_valid_o,
    input  logic             mark_ready_i,
    output logic [15:0]      mark_o,
    input  logic             marked_valid_i,
    output logic             marked_ready_o,
    input  logic [15:0]      marked_i,
    // Sources of the other reports.
    input  ticks_t           now_i,
    input  logic             wire_up_i,
    input  logic [31:0]      patience_i,
    input  departures_t      departures_i,
    input  logic             departed_valid_i,
    output logic             departed_ready_o,
    input  logic [63:0]      departed_i,
    input  logic             received_valid_i,
    output logic             received_ready_o,
    input  logic [63:0]      received_i,
    // Events: an error, for the counter of its kind. An event waits while `counting_i` says that one is
    // pending.
    output logic [15:0]      count_o,
    input  logic [15:0]      counting_i,
    output logic             quiet_o  // idle, and nothing to report
);
  // Whose turn it is: in every other cycle of rest, a report goes before a request.
  logic requests_rest, reports_rest, report_due, turn_q;
  wire rest = requests_rest && reports_rest;
  wire request_go = rest && word_valid_i && (!turn_q || !report_due);
  wire report_go = rest && report_due && !request_go;

  logic hello, using_credits, heard, reports_quiet, calm_q, payload_ready;
  logic [47:0] host;
  logic [15:0] request_count, report_count;
  message_t answer, report;
  assign count_o = request_count | report_count;

  host_requests requests (
      .clk_i,
      .rst_ni,
      .build_i,
      .word_valid_i,
      .word_ready_o,
      .word_i,
      .go_i           (request_go),
      .rest_o         (requests_rest),
      .message_o      (answer),
      .payload_ready_i(payload_ready),
      .host_o         (host),
      .registers_o,
      .registers_i,
      .live_i,
      .forgetting_i,
      .live_valid_o,
      .live_ready_i,
      .live_o,
      .credits_o,
      .credits_i,
      .using_o        (using_credits),
      .mark_valid_o,
      .mark_ready_i,
      .mark_o,
      .hello_o        (hello),
      .heard_o        (heard),
      .count_o        (request_count),
      .calm_i         (calm_q)
  );

  host_reports reports (
      .clk_i,
      .rst_ni,
      .due_o          (report_due),
      .go_i           (report_go),
      .rest_o         (reports_rest),
      .message_o      (report),
      .payload_ready_i(payload_ready),
      .hello_i        (hello),
      .revoke_i       (credits_o.revoke),
      .using_i        (using_credits),
      .heard_i        (heard),
      .now_i,
      .wire_up_i,
      .patience_i,
      .grant_valid_i,
      .grant_ready_o,
      .grant_i,
      .marked_valid_i,
      .marked_ready_o,
      .marked_i,
      .departures_i,
      .departed_valid_i,
      .departed_ready_o,
      .departed_i,
      .received_valid_i,
      .received_ready_o,
      .received_i,
      .count_o        (report_count),
      .quiet_o        (reports_quiet)
  );

  // A frame to the host: three words of its header, then the payload.
  typedef enum logic [1:0] {
    PutHost,
    PutKind,
    PutHeader,
    PutPayload
  } state_e;
  (* fsm_encoding = "one-hot" *)
  state_e state_q;
  logic valid_q;
  beat_t beat_q;
  wire move = !valid_q || ready_i;
  logic reporting_q;  // the frame is a report
  wire message_t message = reporting_q ? report : answer;
  assign payload_ready = state_q == PutPayload && move;

  beat_t beat;
  logic put;
  always_comb begin
    beat = '{last: 1'b0, final_byte: 3'd7, data: '0};
    put  = message.begins;
    unique case (state_q)
      PutHost: beat.data = {ModuleAddress[15:0], host};
      PutKind: beat.data = {message.header.kind, LinkVersion, LinkType, ModuleAddress[47:16]};
      PutHeader: beat.data = {message.header.detail, message.header.length, message.header.number};
      default: begin
        put  = message.valid;
        beat = message.payload;
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rest) turn_q <= !turn_q;
    if (rest) reporting_q <= report_go;
    calm_q <= counting_i[WrongPlace:WrongVersion] == 0;
    if (move) begin
      valid_q <= put;
      beat_q  <= beat;
    end
    if (move && put) begin
      unique case (state_q)
        PutHost: state_q <= PutKind;
        PutKind: state_q <= PutHeader;
        PutHeader: state_q <= PutPayload;
        default: if (message.payload.last) state_q <= PutHost;
      endcase
    end
    if (!rst_ni) begin
      state_q <= PutHost;
      valid_q <= 1'b0;
      turn_q  <= 1'b0;
    end
  end

  assign valid_o = valid_q;
  assign beat_o = beat_q;
  assign quiet_o = requests_rest && reports_quiet && !word_valid_i && !valid_q;
endmodule

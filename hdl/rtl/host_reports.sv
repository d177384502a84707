// Reports to the host without a request for each: credits, marks, departures, received frames, changes of the
// wire's link, and that the host was not heard for too long. The protocol is in docs/fpga-reference.md.
//
//   credits, marks, departures, received frames, the wire ──► the next report ──► host_link
//
// Nothing is reported before the first hello. After the host fell silent, only that is reported.
//
// Rules (formal/host_reports_rules.sv):
//   1 the credits granted to the host since hello are all that were granted to this module.
module host_reports
  import tare_pkg::*;
  import registers_pkg::*;
  import host_pkg::*;
#(
    // Credits are reported for at least 2^CreditBatchLog2 beats; fewer wait until 1 024 cycles after the last
    // report of credits.
    parameter int unsigned CreditBatchLog2 = 7
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    // The next report, if there is one, may begin. There is none in progress while `rest_o` is high.
    output logic        due_o,
    input  logic        go_i,
    output logic        rest_o,
    output message_t    message_o,
    input  logic        payload_ready_i,
    // What the host's requests change.
    input  logic        hello_i,
    input  logic        revoke_i,  // a cycle later
    input  logic        using_i,  // credits are being taken, and none granted
    input  logic        heard_i,
    // Sources of reports.
    input  ticks_t      now_i,
    input  logic        wire_up_i,
    input  logic [31:0] patience_i,
    input  logic        grant_valid_i,
    output logic        grant_ready_o,
    input  credits_t    grant_i,
    input  logic        marked_valid_i,
    output logic        marked_ready_o,
    input  logic [15:0] marked_i,
    input  departures_t departures_i,
    input  logic        departed_valid_i,
    output logic        departed_ready_o,
    input  logic [63:0] departed_i,
    input  logic        received_valid_i,
    output logic        received_ready_o,
    input  logic [63:0] received_i,
    output logic [15:0] count_o,  // an error, for the counter of its kind
    output logic        quiet_o  // idle, and nothing to report
);
  // One-hot in synthesis, as in host_requests.
  typedef enum logic [3:0] {
    Rest,
    Tell,
    TakeSize,
    DropFcs,
    // A report: one of four values, and one of two bodies.
    PutSmall,
    PutTotal,
    PutNow,
    PutStamp,
    PutDeparted,
    PutReceived
  } state_e;

  (* fsm_encoding = "one-hot" *)
  state_e state_q;

  typedef enum logic [2:0] {
    TellNothing,
    TellWire,
    TellSilent,
    TellMark,
    TellCredit,
    TellDeparted,
    TellReceived
  } tell_e;
  tell_e tell, tell_q;

  logic known_q, silent_q, silent_due_q, wire_q, wire_told_q, credit_due_q;
  credits_t granted_q;  // not reported
  logic [47:0] total_q; // reported since hello
  logic [16:0] since_q; // cycles since credits were reported
  logic since_new_q;
  logic [15:0] unit_q;
  logic [16:0] patience_q;  // counts up to 0 in units of 65 536 ticks
  logic patient_q, unit_ends_q;
  logic short_received_q;   // the FCS fills a beat of its own

  // The header.
  logic [15:0] own_q;  // the number of the next report
  logic [15:0] number_q, length_q, detail_q;
  logic [31:0] small_q;  // the value of a report that has no other
  logic [7:0] body_q;  // remaining beats of the body
  logic body_last_q;   // as of the previous cycle; beats are at least two cycles apart

  // The next report.
  always_comb begin
    tell = TellNothing;
    if (silent_due_q) tell = TellSilent;
    else if (known_q && !silent_q) begin
      if (wire_q != wire_told_q) tell = TellWire;
      else if (marked_valid_i) tell = TellMark;
      else if (credit_due_q) tell = TellCredit;
      else if (departures_i.due) tell = TellDeparted;
      else if (received_valid_i) tell = TellReceived;
    end
  end
  assign due_o = tell != TellNothing;
  assign rest_o = state_q == Rest;

  // Written like this so that yosys keeps the states one-hot.
  assign grant_ready_o = known_q && !using_i;
  assign marked_ready_o = state_q == Tell && tell_q == TellMark;
  assign departed_ready_o = state_q == PutDeparted && payload_ready_i;
  wire puts_received = state_q == PutStamp || state_q == PutReceived;
  assign received_ready_o = state_q == TakeSize || (puts_received && payload_ready_i) || state_q == DropFcs;

  assign quiet_o = rest_o && !due_o && (granted_q == 0 || silent_q) && departures_i.count == 0;

  always_comb begin
    count_o = '0;
    if (state_q == Tell && tell_q == TellSilent) count_o[Silent] = 1'b1;
    if (state_q == Tell && tell_q == TellWire) count_o[WireChanged] = 1'b1;
  end

  // The report.
  wire is_value = state_q == PutSmall || state_q == PutTotal || state_q == PutNow || state_q == PutStamp;
  wire has_body = tell_q == TellDeparted || tell_q == TellReceived;
  // Words from a memory may come a cycle later.
  wire there = state_q == PutDeparted ? departed_valid_i : !puts_received || received_valid_i;
  wire sent = payload_ready_i && there;
  kind_e kind;
  always_comb begin
    unique case (tell_q)
      TellMark: kind = Marked;
      TellCredit: kind = Credit;
      TellDeparted: kind = Departed;
      TellReceived: kind = Received;
      default: kind = Error;
    endcase
    unique case (state_q)
      PutSmall: message_o.payload.data = {32'b0, small_q};
      PutTotal: message_o.payload.data = {16'b0, total_q};
      PutNow: message_o.payload.data = now_i;
      PutDeparted: message_o.payload.data = departed_i;
      default: message_o.payload.data = received_i;
    endcase
  end
  assign message_o.begins = is_value;
  assign message_o.header = '{kind: kind, number: number_q, length: length_q, detail: 32'(detail_q)};
  assign message_o.valid = (is_value || state_q == PutDeparted || state_q == PutReceived) && there;
  assign message_o.payload.last = is_value ? !has_body : body_last_q;
  wire ends_received = state_q == PutReceived && body_last_q;
  assign message_o.payload.final_byte = ends_received ? 3'(length_q - 1'b1) : 3'd7;

  always_ff @(posedge clk_i) begin
    body_last_q <= body_q == 8'd1;

    unique case (state_q)
      Rest: begin
        tell_q <= tell;
        if (go_i) state_q <= Tell;
      end
      Tell: begin
        number_q <= own_q;
        own_q    <= own_q + 1'b1;
        detail_q <= '0;
        length_q <= '0;
        // The departures that are not reported, or the state of the wire's link.
        small_q  <= tell_q == TellDeparted ? departures_i.left_out : '0;
        if (tell_q == TellWire) small_q[0] <= wire_q;
        state_q  <= PutSmall;
        unique case (tell_q)
          TellSilent: detail_q <= {12'b0, Silent};
          TellWire: detail_q <= {12'b0, WireChanged};
          TellMark: begin
            detail_q <= marked_i;
            state_q  <= PutNow;
          end
          TellCredit: begin
            detail_q <= 16'(granted_q);
            state_q  <= PutTotal;
          end
          TellDeparted: begin
            detail_q <= 16'(departures_i.count);
            length_q <= {6'b0, departures_i.count, 4'b0};
            body_q   <= {1'b0, departures_i.count, 1'b0};
          end
          default: state_q <= TakeSize;
        endcase
      end

      // A received frame: its size with FCS, its stamp, its beats. The FCS is dropped here; it may fill a beat
      // of its own.
      TakeSize:
        if (received_valid_i) begin
          detail_q[0]      <= received_i[12];
          length_q         <= {4'b0, received_i[11:0]} - 16'(FcsBytes);
          body_q           <= 8'((received_i[11:0] + 12'(7 - FcsBytes)) >> 3);
          short_received_q <= 3'(received_i[2:0] - 3'd1) < 3'd4;
          state_q          <= PutStamp;
        end

      PutSmall, PutTotal, PutNow, PutStamp:
        if (sent) begin
          unique case (tell_q)
            TellDeparted: state_q <= PutDeparted;
            TellReceived: state_q <= PutReceived;
            default: state_q <= Rest;
          endcase
        end
      PutDeparted:
        if (sent) begin
          body_q <= body_q - 1'b1;
          if (body_last_q) state_q <= Rest;
        end
      PutReceived:
        if (sent) begin
          body_q <= body_q - 1'b1;
          if (body_last_q) state_q <= short_received_q ? DropFcs : Rest;
        end
      DropFcs: if (received_valid_i) state_q <= Rest;
      default: state_q <= Rest;
    endcase

    if (!rst_ni) begin
      state_q <= Rest;
      own_q   <= '0;
    end
  end

  // Credits are taken as they come and reported in batches. Hello revokes them a cycle later, as it is known
  // late in its own cycle.
  wire granted = grant_valid_i && grant_ready_o;
  wire credit_told = state_q == Tell && tell_q == TellCredit;
  always_ff @(posedge clk_i) begin
    granted_q   <= (revoke_i || credit_told ? '0 : granted_q) + (granted ? grant_i : '0);
    since_new_q <= revoke_i || credit_told || !rst_ni;
    if (since_q != '1) since_q <= since_q + 1'b1;
    if (since_new_q) since_q <= '0;
    credit_due_q <= granted_q[CreditWidth-1:CreditBatchLog2] != 0
        || (granted_q != 0 && since_q[16:10] != 0) || since_q[16];
    if (credit_told) total_q <= total_q + 48'(granted_q);
    if (revoke_i) total_q <= '0;
    if (!rst_ni) begin
      granted_q    <= '0;
      total_q      <= '0;
      credit_due_q <= 1'b0;
    end
  end

  // Presence of the host (since hello, until it was silent for too long) and of the wire's link.
  always_ff @(posedge clk_i) begin
    unit_q      <= unit_q + 1'b1;
    unit_ends_q <= unit_q == '1;
    if (unit_ends_q && patient_q) begin
      patience_q <= patience_q + 1'b1;
      if (patience_q == 0) begin
        silent_due_q <= known_q;
        patient_q    <= 1'b0;
      end
    end
    if (state_q == Tell && tell_q == TellSilent) begin
      silent_q     <= 1'b1;
      silent_due_q <= 1'b0;
    end
    if (heard_i) begin
      // Never too early: the current unit does not count, and the last one counts only when complete.
      patience_q   <= {1'b1, ~patience_i[31:16]};
      patient_q    <= patience_i != 0;
      silent_q     <= 1'b0;
      silent_due_q <= 1'b0;
    end
    wire_q <= wire_up_i;
    if (state_q == Tell && tell_q == TellWire) wire_told_q <= wire_q;
    if (hello_i) begin
      known_q     <= 1'b1;
      wire_told_q <= wire_q;
    end
    if (!rst_ni) begin
      known_q      <= 1'b0;
      silent_q     <= 1'b0;
      silent_due_q <= 1'b0;
      patient_q    <= 1'b0;
      unit_q       <= '0;
      unit_ends_q  <= 1'b0;
    end
  end
endmodule

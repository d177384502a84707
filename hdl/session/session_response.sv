// Reads the responses of all sessions, and gives each departure its outcome, exactly one.
//
// What is told is taken in order, one thing after another: a record for each session has the times of its
// request and what its response consisted of so far. Text is read from the ring a byte each cycle, but bytes
// of a body are only counted, all at once, unless they are summed. So reading is never slower than the wire.
// The place in the ring is free when its text is read.
//
// Text that came ahead of a hole is not kept. When the hole is filled it is counted as a part of the body; if
// that is not what it was, or if bodies are summed, the outcome is a hole.
//
// The sum is CRC-32 (that of Ethernet and of zip), a byte a cycle. It sees bytes that changed places, which a
// sum of ones' complement does not, and every language can compute it.
module session_response
  import tare_pkg::*;
  import session_pkg::*;
  import session_engine_pkg::*;
  import session_read_pkg::*;
#(
    parameter int unsigned Sessions = 8192
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  load_t      load_i,
    // The records are cleared; it is high from a cycle before the first.
    input  logic       clear_i,
    input  index_t     clear_place_i,
    input  logic       told_valid_i,
    output logic       told_ready_o,
    input  told_t      told_i,
    output ring_t      ring_place_o,   // read two cycles later
    input  logic [7:0] ring_byte_i,
    output ring_t      ring_free_o,
    // Of the template whose response is read: what its body's sum must be.
    output template_t  template_o,
    input  logic       sum_known_i,
    input  logic [31:0] sum_i,
    output logic       sum_learn_o,    // it shall be that of the result
    output logic       ask_valid_o,
    input  logic       ask_ready_i,
    output ask_t       ask_o,
    output logic       result_valid_o,
    input  logic       result_ready_i,
    output result_t    result_o,
    output logic       connected_valid_o,
    output connected_t connected_o,
    output logic       result_lost_o,
    output logic       excess_o
);
  localparam int unsigned Width = $clog2(Sessions);

  typedef struct packed {
    logic        busy;       // a departure has no outcome yet
    logic        begun;      // text of the response has come
    tick_t       due;        // without a departure: the start of the SYN
    logic [31:0] sent;
    logic [31:0] connected;
    logic [31:0] first;
    template_t   template_;
    logic [31:0] crc;        // of the body so far, inverted
    reading_t    reading;
  } record_t;

  typedef enum logic [3:0] {
    Listen,
    Fetch,
    Fetched,
    Since,
    Apply,
    Text,
    Jump,     // over a body that is counted
    Fill,
    Weigh,
    Judge,
    Store
  } state_e;

  state_e state_q;
  told_t told_q;
  record_t r_q, stored;
  reading_t read;
  logic second_q;        // the range behind what was filled
  logic hole_q, complete_q;
  ring_t place_q;        // of the next byte
  ring_t fetch_q;        // that is read: three ahead of it
  logic [15:0] left_q;   // bytes of the range
  logic [1:0] settle_q;  // cycles until the byte at `place_q` is here
  byte_t byte_q;

  session_memory #(
      .T    (record_t),
      .Depth(Sessions)
  ) records (
      .clk_i,
      .write_i(clear_i || state_q == Store),
      .place_i(clear_i ? clear_place_i[Width-1:0] : told_q.index[Width-1:0]),
      .data_i (r_q),
      .read_i (told_i.index[Width-1:0]),
      .data_o (stored)
  );

  session_read reader (
      .reading_i(r_q.reading),
      .byte_i   (byte_q),
      .reading_o(read)
  );

  // Each of a cycle ago.
  logic [47:0] since_q, whole_q;
  logic [27:0] of_body_q;
  logic all_q, fits_q, status_wrong_q, length_wrong_q, sum_wrong_q;
  wire [31:0] since_due = |since_q[47:32] ? '1 : since_q[31:0];
  wire [31:0] whole_due = |whole_q[47:32] ? '1 : whole_q[31:0];
  logic made_q;  // a connection, after these ticks
  logic [31:0] made_after_q, made_before_q;
  // Bytes of a body are not looked at.
  wire counts = r_q.reading.state == Body && !load_i.sums;
  wire of_sum = r_q.reading.state == Body || r_q.reading.state == UntilClose;
  wire all = r_q.reading.left <= 28'(left_q);
  wire over = r_q.reading.state == Complete || r_q.reading.state == Malformed || !r_q.busy || hole_q;
  wire [27:0] filled = told_q.filled_len[27:0];
  wire fits = told_q.filled_len[29:28] == '0 && r_q.reading.state == Body && filled <= r_q.reading.left;

  wire [31:0] sum = ~r_q.crc;
  assign template_o = r_q.template_;
  outcome_e judged, closed_as;
  always_comb begin
    judged = OutcomeDone;
    if (status_wrong_q) judged = OutcomeStatus;
    else if (length_wrong_q) judged = OutcomeLength;
    else if (sum_wrong_q) judged = OutcomeSum;
    unique case (told_q.closed)
      CauseRefused:     closed_as = OutcomeRefused;
      CauseReset:       closed_as = OutcomeReset;
      CauseTimedOut:    closed_as = OutcomeTimedOut;
      CauseUnreachable: closed_as = OutcomeUnreachable;
      CauseAborted:     closed_as = OutcomeAborted;
      default:          closed_as = OutcomeCut;
    endcase
  end

  assign told_ready_o = state_q == Listen;
  assign ring_place_o = fetch_q;

  // The outcome of what `Judge` sees.
  logic gives, asks;
  outcome_e outcome;
  always_comb begin
    gives   = 1'b0;
    asks    = 1'b0;
    outcome = judged;
    if (state_q == Judge && r_q.busy) begin
      if (complete_q) begin
        gives = 1'b1;
        asks  = 1'b1;
      end else if (hole_q || r_q.reading.state == Malformed) begin
        gives   = 1'b1;
        asks    = 1'b1;
        outcome = hole_q ? OutcomeHole : OutcomeMalformed;
      end else if (told_q.ended) begin
        gives   = 1'b1;
        asks    = 1'b1;
        outcome = OutcomeCut;
      end else if (told_q.closed != CauseNone) begin
        gives   = 1'b1;
        outcome = closed_as;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    result_valid_o    <= 1'b0;
    result_lost_o     <= 1'b0;
    excess_o          <= 1'b0;
    sum_learn_o       <= 1'b0;
    if (ask_valid_o && ask_ready_i) ask_valid_o <= 1'b0;
    fetch_q  <= fetch_q + ring_t'(1);
    byte_q   <= known(ring_byte_i);
    if (settle_q != '0) settle_q <= settle_q - 2'd1;

    since_q        <= told_q.stamp - r_q.due;
    whole_q        <= since_q + 48'(told_q.bytes) + 48'd8;
    all_q          <= all;
    of_body_q      <= all ? r_q.reading.left : 28'(left_q);
    fits_q         <= fits;
    status_wrong_q <= r_q.reading.status < load_i.status_low || r_q.reading.status > load_i.status_high;
    length_wrong_q <= r_q.reading.size < load_i.length_low || r_q.reading.size > load_i.length_high;
    sum_wrong_q    <= load_i.sums && sum_known_i && sum != sum_i;
    made_q         <= 1'b0;
    connected_valid_o <= made_q;
    connected_o.index <= told_q.index;
    connected_o.ticks <= made_after_q - made_before_q;

    unique case (state_q)
      Listen: begin
        told_q <= told_i;
        if (told_valid_i) begin
          if (told_i.missed) begin
            result_valid_o    <= result_ready_i;
            result_lost_o     <= !result_ready_i;
            result_o          <= '0;
            result_o.outcome  <= OutcomeMissed;
            result_o.due      <= told_i.stamp;
          end else state_q <= Fetch;
        end
      end
      Fetch: state_q <= Fetched;
      Fetched: begin
        r_q     <= stored;
        state_q <= Since;
      end
      Since: state_q <= Apply;

      Apply: begin
        second_q   <= 1'b0;
        hole_q     <= 1'b0;
        complete_q <= 1'b0;
        place_q    <= told_q.start + told_q.data.skip[12:0];
        fetch_q    <= told_q.start + told_q.data.skip[12:0];
        left_q     <= told_q.data.len;
        settle_q   <= 2'd3;
        state_q    <= told_q.text ? Text : Weigh;
        if (told_q.departed) begin
          r_q               <= '0;
          r_q.busy          <= 1'b1;
          r_q.due           <= told_q.stamp;
          r_q.template_     <= told_q.template_;
          r_q.crc           <= '1;
          r_q.reading.state <= Protocol;
        end
        if (told_q.sent && r_q.busy) r_q.sent <= since_due;
        if (told_q.sent && !r_q.busy) r_q.due <= told_q.stamp;
        if (told_q.connected && r_q.busy) r_q.connected <= since_due;
        if (told_q.connected) begin
          made_q        <= 1'b1;
          made_after_q  <= since_due;
          made_before_q <= r_q.busy ? r_q.sent : '0;
        end
        if (told_q.text && told_q.data.len != '0 && r_q.busy && !r_q.begun) begin
          r_q.begun <= 1'b1;
          r_q.first <= since_due;
        end
      end

      Text: begin
        if (left_q == '0) state_q <= second_q ? Judge : Fill;
        else if (over) begin
          excess_o <= !r_q.busy || r_q.reading.state == Complete;
          state_q  <= second_q ? Judge : Fill;
        end else if (counts) state_q <= Jump;
        else if (settle_q == '0) begin
          place_q     <= place_q + ring_t'(1);
          left_q      <= left_q - 16'd1;
          r_q.reading <= read;
          if (of_sum) r_q.crc <= crc_byte(r_q.crc, byte_q.value);
        end
      end

      Jump: begin
        place_q          <= place_q + ring_t'(of_body_q);
        fetch_q          <= place_q + ring_t'(of_body_q);
        settle_q         <= 2'd3;
        left_q           <= left_q - 16'(of_body_q);
        r_q.reading.left <= r_q.reading.left - of_body_q;
        r_q.reading.size <= r_q.reading.size + of_body_q;
        if (all_q) r_q.reading.state <= r_q.reading.chunked ? ChunkEnd : Complete;
        state_q          <= Text;
      end

      Fill: begin
        if (told_q.filled_len != '0 && r_q.busy) begin
          if (fits_q && !load_i.sums) begin
            r_q.reading.left <= r_q.reading.left - filled;
            r_q.reading.size <= r_q.reading.size + filled;
            if (filled == r_q.reading.left) r_q.reading.state <= r_q.reading.chunked ? ChunkEnd : Complete;
          end else if (r_q.reading.state == UntilClose && !load_i.sums) r_q.reading.size <= r_q.reading.size + filled;
          else if (r_q.reading.state == Complete) excess_o <= 1'b1;
          else hole_q <= 1'b1;
        end
        second_q <= 1'b1;
        place_q  <= told_q.start + told_q.data_after.skip[12:0];
        fetch_q  <= told_q.start + told_q.data_after.skip[12:0];
        left_q   <= told_q.data_after.len;
        settle_q <= 2'd3;
        state_q  <= Text;
      end

      Weigh: state_q <= Judge;

      Judge: begin
        // A body without a length ends with the connection.
        if (!complete_q && r_q.busy && (r_q.reading.state == Complete || told_q.ended && r_q.reading.state == UntilClose)) begin
          complete_q <= 1'b1;
          state_q    <= Weigh;
        end else if (!asks || !ask_valid_o || ask_ready_i) begin
          state_q <= Store;
          if (gives) begin
            r_q.busy            <= 1'b0;
            result_valid_o      <= result_ready_i;
            result_lost_o       <= !result_ready_i;
            result_o.outcome    <= outcome;
            result_o.index      <= told_q.index;
            result_o.status     <= r_q.reading.status;
            result_o.due        <= r_q.due;
            result_o.sent       <= r_q.sent;
            result_o.connected  <= r_q.connected;
            result_o.first      <= r_q.first;
            result_o.done       <= told_q.text ? whole_due : since_due;
            result_o.size       <= r_q.reading.size;
            result_o.crc        <= complete_q && load_i.sums ? sum : '0;
            sum_learn_o         <= complete_q && load_i.same && load_i.sums && !sum_known_i && judged == OutcomeDone;
          end
          if (asks) begin
            ask_valid_o       <= 1'b1;
            ask_o.give_up       <= !complete_q && !told_q.ended;
            ask_o.keep        <= complete_q && !r_q.reading.close && r_q.reading.state == Complete;
            ask_o.index       <= told_q.index;
            ask_o.incarnation <= told_q.incarnation;
          end
        end
      end

      Store: begin
        state_q <= Listen;
        if (told_q.text) ring_free_o <= told_q.after;
      end
      default: ;
    endcase

    // What is written while records are cleared.
    if (!rst_ni || clear_i) r_q <= '0;
    if (!rst_ni) begin
      state_q           <= Listen;
      ask_valid_o       <= 1'b0;
      result_valid_o    <= 1'b0;
      connected_valid_o <= 1'b0;
      made_q            <= 1'b0;
      sum_learn_o       <= 1'b0;
      ring_free_o       <= '0;
    end
  end
endmodule

// Rules of session_redis_sender: what it sends before a connection is greeted, by induction, for any number of
// cycles and connections. What replies mean is proved apart (session_redis_replies) and assumed here.
//
//   1 no byte of a command of events leaves before each command of the greeting has its +OK on this connection;
//   2 a connection whose greeting is refused is over;
//   3 no command is settled by the reply to a greeting.
module session_redis_sender_rules
  import session_pkg::*;
  import session_engine_pkg::*;
  import session_redis_pkg::*;
(
    input logic           clk_i,
    input logic           rst_ni,
    input redis_t         redis_i,
    input logic           known_i,
    input ahead_t         complete_i,
    input logic           heard_valid_i,
    input heard_segment_t heard_i,
    input logic [7:0]     text_byte_i,
    input logic           sending_ready_i
);
  logic sending_valid, settle;
  sending_t sending;
  session_redis_sender one (
      .clk_i,
      .rst_ni,
      .redis_i,
      .port_o         (),
      .known_i,
      .wants_o        (),
      .forget_o       (),
      .complete_i,
      .settle_o       (settle),
      .heard_valid_i,
      .heard_ready_o  (),
      .heard_i,
      .text_place_o   (),
      .text_byte_i,
      .text_free_o    (),
      .sending_valid_o(sending_valid),
      .sending_ready_i,
      .sending_o      (sending),
      .row_o          (),
      .now_o          (),
      .counted_o      ()
  );
  localparam logic [1:0] Down = 2'd0, Greet = 2'd2, Up = 2'd3;
  localparam logic [2:0] Offer = 3'd5, OutGreeting = 3'd2, OutData = 3'd3;

  logic begun_q = 1'b0;
  logic [7:0] greeting_q;
  logic [1:0] greetings_q;
  logic [1:0] welcomes_q;  // on this connection
  logic denied_q;
  always_ff @(posedge clk_i) begin
    begun_q     <= 1'b1;
    greeting_q  <= redis_i.greeting;
    greetings_q <= redis_i.greetings;
    if (one.opens) welcomes_q <= '0;
    else if (one.welcome) welcomes_q <= welcomes_q + 2'd1;
    denied_q <= one.denied;
  end

  wire is_offering = one.state_q == Offer;
  wire is_greeted = redis_i.greeting == '0 || welcomes_q == redis_i.greetings;
  always_comb begin
    assume (rst_ni == begun_q);
    if (begun_q) assume (redis_i.greeting == greeting_q && redis_i.greetings == greetings_q);
    // session_redis_replies: one outcome at most, while text is read, and a welcome in a greeting alone.
    assume (32'(one.welcome) + 32'(one.stored) + 32'(one.refused) + 32'(one.busy) + 32'(one.wrong) <= 32'd1);
    if (!one.parses) assume (!one.welcome && !one.stored && !one.refused && !one.busy && !one.wrong);
    if (!one.greets) assume (!one.welcome);
    if (one.greets) assume (!one.stored);
    if (begun_q) begin
      if (sending_valid && sending.segment.len != '0 && sending.entry.field == FieldSequence)
        rule_1 : assert (is_greeted && one.link_q == Up);
      if (one.link_q == Up) rule_1_up : assert (is_greeted);
      if (one.link_q == Greet)
        rule_1_rest : assert (redis_i.greeting != '0 && 32'(welcomes_q) + 32'(one.greetings_q) == 32'(redis_i.greetings));
      if (is_offering && one.what_q == OutData) rule_1_data : assert (one.link_q == Up);
      if (is_offering && one.what_q == OutGreeting) rule_1_greeting : assert (one.link_q == Greet);
      if (denied_q) rule_2 : assert (one.link_q == Down);
      if (settle) rule_3 : assert (one.link_q == Up);
    end
    cover_open : cover (begun_q && is_offering && one.what_q == OutGreeting);
  end
endmodule

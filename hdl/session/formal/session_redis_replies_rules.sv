// Rules of session_redis_replies: what a reply means is told by its first two bytes, which are remembered here.
//
//   1 there is one outcome at most, and but for what is wrong it comes with the end of a line;
//   2 stored is what begins by '$', with its second line, if that has digits and one '-', or an error behind a
//     command that was sent before; welcome is what begins by '+', in a greeting;
//   3 refused or busy is what begins by '-', with its first line; it is busy by its second byte;
//   4 what is stored is no greeting.
//
// What is assumed: a greeting is not over inside a reply, and behind what is wrong another connection begins.
module session_redis_replies_rules (
    input logic       clk_i,
    input logic       rst_ni,
    input logic       restart_i,
    input logic       valid_i,
    input logic [7:0] byte_i,
    input logic       again_i,
    input logic       greets_i
);
  logic stored, refused, busy, wrong, welcome;
  session_redis_replies one (
      .clk_i,
      .rst_ni,
      .restart_i,
      .valid_i,
      .byte_i,
      .again_i,
      .greets_i,
      .welcome_o(welcome),
      .stored_o (stored),
      .refused_o(refused),
      .busy_o   (busy),
      .wrong_o  (wrong)
  );

  logic begun_q = 1'b0;
  logic inside_q, greets_q, wrong_q;
  logic [1:0] bytes_q;   // so far, of the reply
  logic line_q;          // its first line is over
  logic odd_q;           // something in its size or its id is neither a digit nor the '-' of the id
  logic [1:0] dashes_q;  // in the id
  logic [7:0] first_q, second_q;
  wire feed = valid_i && byte_i == 8'h0a;
  wire over = feed && (first_q != "$" || line_q);
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    wrong_q <= wrong || wrong_q && !restart_i;
    if (valid_i) begin
      if (!inside_q) begin
        first_q  <= byte_i;
        greets_q <= greets_i;
      end
      if (bytes_q == 2'd1) second_q <= byte_i;
      if (bytes_q != 2'd2) bytes_q <= bytes_q + 2'd1;
      inside_q <= 1'b1;
      if (feed) line_q <= 1'b1;
      if (inside_q && (byte_i < "0" || byte_i > "9") && byte_i != 8'h0d && !feed) begin
        if (byte_i != "-" || !line_q) odd_q <= 1'b1;
        else if (dashes_q != 2'd2) dashes_q <= dashes_q + 2'd1;
      end
      if (!inside_q) begin
        odd_q    <= 1'b0;
        dashes_q <= '0;
      end
      if (inside_q && over) begin
        inside_q <= 1'b0;
        bytes_q  <= '0;
        line_q   <= 1'b0;
      end
    end
    if (restart_i) begin
      inside_q <= 1'b0;
      bytes_q  <= '0;
      line_q   <= 1'b0;
    end
  end

  wire is_id = !odd_q && dashes_q == 2'd1;
  wire said_busy = second_q == "L" || second_q == "B";
  always_comb begin
    assume (rst_ni);
    assume (!wrong_q || !valid_i);
    assume (!inside_q || greets_i == greets_q);
    assume (!restart_i || !valid_i);
    if (!begun_q) assume (one.state_q == '0 && !inside_q && bytes_q == '0 && !line_q && !wrong_q);
    if (begun_q) begin
      rule_1 : assert ($countones({stored, refused, busy, wrong, welcome}) <= 1 && (wrong || !(stored || refused || busy || welcome) || feed));
      if (stored) rule_2 : assert (inside_q && over && (first_q == "$" && is_id || first_q == "-" && again_i && bytes_q == 2'd2));
      if (welcome) rule_2_welcome : assert (inside_q && over && first_q == "+" && greets_i);
      if (refused || busy) rule_3 : assert (inside_q && over && first_q == "-" && busy == said_busy);
      if (stored) rule_4 : assert (!greets_i);
      if (inside_q && over && first_q == "+" && greets_i) rule_2_all : assert (welcome);
      if (inside_q && over && first_q == "$" && !greets_i) rule_2_stored : assert (stored == is_id && wrong == !is_id);
    end
    cover_stored : cover (begun_q && stored && first_q == "$");
    cover_again : cover (begun_q && stored && first_q == "-");
    cover_welcome : cover (begun_q && welcome);
    cover_busy : cover (begun_q && busy);
  end
endmodule

// Reads Redis's replies (RESP), a byte each cycle. Each command, an XADD, has one: an id if it was stored, an
// error otherwise.
//
//   $3\r\n1-0\r\n             stored: an id is digits and a '-'; other text is of no Redis's, and wrong
//   -ERR ...\r\n              refused. "equal or smaller" says that Redis has it: so a command that was sent
//                             before, over another connection, was stored then (`again_i`).
//   -LOADING, -BUSY           nothing is taken for now
//
// Those of a greeting (AUTH, SELECT), with which a connection may begin, are
//
//   +OK\r\n                   welcome
//   -WRONGPASS ...\r\n        refused
//
// All else is wrong.
//
// Rules (formal/session_redis_replies_rules.sv):
//   1 a line is one reply at most, and a reply ends with a line;
//   2 nothing is stored by what a greeting has, and nothing else is welcome;
//   3 a line that begins by '-' stores nothing that was sent only once, and welcomes nothing.
module session_redis_replies (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       restart_i,  // of another connection
    input  logic       valid_i,
    input  logic [7:0] byte_i,
    input  logic       again_i,
    input  logic       greets_i,   // this is a reply to a greeting
    output logic       welcome_o,
    output logic       stored_o,   // with the last byte
    output logic       refused_o,
    output logic       busy_o,
    output logic       wrong_o
);
  typedef enum logic [2:0] {
    First,
    Size,
    Id,
    Status,
    Code,  // the first letter of an error
    Error
  } state_e;

  localparam logic [7:0] LineFeed = 8'h0a;

  state_e state_q;
  logic [2:0] matched_q;  // of "smaller"
  logic busy_q;
  logic odd_q;   // something in the size or the id is of neither
  logic dash_q;  // the id has its '-'

  function automatic logic [7:0] wanted(input logic [2:0] at);
    unique case (at)
      3'd0:    return "s";
      3'd1:    return "m";
      3'd2:    return "a";
      3'd3:    return "l";
      3'd4:    return "l";
      3'd5:    return "e";
      default: return "r";
    endcase
  endfunction

  wire ends = valid_i && byte_i == LineFeed;
  wire is_there = matched_q == 3'd7 && again_i && !greets_i && !busy_q;
  assign welcome_o = ends && state_q == Status;
  wire is_digit = byte_i >= "0" && byte_i <= "9";
  wire is_end = byte_i == 8'h0d || ends;
  assign stored_o = ends && (state_q == Id && dash_q && !odd_q || state_q == Error && is_there);
  assign refused_o = ends && state_q == Error && !is_there && !busy_q;
  assign busy_o    = ends && state_q == Error && busy_q;
  wire is_known = byte_i == "-" || byte_i == (greets_i ? "+" : "$");
  assign wrong_o   = valid_i && state_q == First && !is_known
      || ends && (state_q == Code || state_q == Size && odd_q || state_q == Id && (odd_q || !dash_q));

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      unique case (state_q)
        First: begin
          odd_q <= 1'b0;
          if (byte_i == "$") state_q <= Size;
          if (byte_i == "+") state_q <= Status;
          if (byte_i == "-") state_q <= Code;
        end
        Size: begin
          if (ends) state_q <= Id;
          dash_q <= 1'b0;
          if (!is_digit && !is_end) odd_q <= 1'b1;
        end
        Id: begin
          if (ends) state_q <= First;
          if (byte_i == "-") dash_q <= 1'b1;
          if (byte_i == "-" ? dash_q : !is_digit && !is_end) odd_q <= 1'b1;
        end
        Code: begin
          state_q   <= Error;
          busy_q    <= byte_i == "L" || byte_i == "B";
          matched_q <= '0;
        end
        default: begin
          if (ends) state_q <= First;
          if (matched_q != 3'd7)
            matched_q <= byte_i == wanted(matched_q) ? matched_q + 3'd1 : 3'(byte_i == "s");
        end
      endcase
    end
    if (restart_i || !rst_ni) state_q <= First;
  end
endmodule
